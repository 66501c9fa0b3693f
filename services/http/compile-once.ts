import type { Compiled } from './compiled-schemas.ts'

/** What Fastify makes compilers of; given the schemas that others may refer to, and options. */
type Builder = (shared: never, options: never) => (part: never) => unknown

/** Finds what was compiled of a schema ahead of time. */
type Find = (schema: object, options: unknown) => Compiled | null

/**
 * Makes a builder of compilers that compile a schema when it is first needed, and once in a process: a start
 * does not wait for routes that nobody calls, and of several gateways in one process only the first one
 * compiles. The compiler itself is loaded for the first schema that `find` does not have. Schemas that may
 * refer to shared ones are compiled as Fastify does. Source: the options `schemaController.compilersFactory`
 * of Fastify.
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

/** Compiles when it is first called. */
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
