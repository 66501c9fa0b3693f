import type { Compiled } from './compiled-schemas.ts'

/** Creates Fastify's compilers, given the shared schemas and options. */
type Builder = (shared: never, options: never) => (part: never) => unknown

/** Finds the validator or serializer that was compiled ahead of time for a schema. */
type Find = (schema: object, options: unknown) => Compiled | null

/**
 * Makes a builder of compilers that compile a schema on first use and once per process: the start does not
 * wait for unused routes, and several gateways in one process compile once. The compiler itself is loaded for
 * the first schema that `find` does not have. Schemas with references to shared ones are compiled as Fastify
 * does. Source: Fastify's option `schemaController.compilersFactory`.
 */
export function compileOnce<Build extends Builder> (load: () => Build, find: Find = () => null): Build {
  const known = new WeakMap<object, Compiled>()
  const once = (shared: object, options: unknown) => {
    const loadCompiler = () => load()(shared as never, options as never)
    if (Object.keys(shared).length > 0) return loadCompiler()
    return (part: { schema: object }) => {
      const { schema } = part
      const compile = () => find(schema, options) ?? loadCompiler()(part as never) as Compiled
      const compiled = known.get(schema) ?? whenCalled(compile)
      known.set(schema, compiled)
      return compiled
    }
  }
  // It takes and gives what the builder does, whose types the two builders do not share.
  return once as unknown as Build
}

/** Compiles on its first call. */
export function whenCalled (compile: () => Compiled): Compiled {
  let compiled: Compiled | null = null
  const call: Compiled = data => {
    compiled ??= compile()
    const result = compiled(data)
    call.errors = compiled.errors
    return result
  }
  return call
}
