/** What Fastify makes compilers of; given the schemas that others may refer to, and options. */
type Builder = (shared: never, options: never) => (part: never) => unknown

/** A validator keeps the errors of its last call; a serializer has none. */
interface Compiled { (data: unknown): unknown, errors?: unknown }

/**
 * Makes a builder of compilers that compile a schema when it is first needed, and once in a process: a start
 * does not wait for routes that nobody calls, and of several gateways in one process only the first one
 * compiles. Schemas that may refer to shared ones are compiled as Fastify does. Source: the options
 * `schemaController.compilersFactory` of Fastify.
 */
export function compileOnce<Build extends Builder> (build: Build): Build {
  const known = new WeakMap<object, Compiled>()
  const once = (shared: object, options: unknown) => {
    const compile = build(shared as never, options as never)
    if (Object.keys(shared).length > 0) return compile
    return (part: { schema: object }) => {
      const compiled = known.get(part.schema) ?? whenCalled(() => compile(part as never) as Compiled)
      known.set(part.schema, compiled)
      return compiled
    }
  }
  // It takes and gives what the builder does, whose types the two builders do not share.
  return once as unknown as Build
}

function whenCalled (compile: () => Compiled): Compiled {
  let compiled: Compiled | null = null
  const call: Compiled = data => {
    compiled ??= compile()
    const result = compiled(data)
    call.errors = compiled.errors
    return result
  }
  return call
}
