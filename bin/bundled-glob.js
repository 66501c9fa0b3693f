// Stands for `glob` in the bundle: @fastify/static loads it for an option that the console does not use.

/** Throws: with that option, the gateway would fail at its start. */
export function glob () {
  throw new Error('@fastify/static with `wildcard: false` needs glob, which bin/bundle.ts leaves out')
}
