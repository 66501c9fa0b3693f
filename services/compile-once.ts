/** What Fastify makes compilers of; given the schemas that others may refer to, and options. */
type Builder = (shared: never, options: never) => (part: never) => unknown

/**
 * Makes a builder of compilers that compile each schema once in a process, however many gateways are built in
 * it: what a test of several gateways spends most of its time on. Schemas that may refer to shared ones are
 * compiled anew. Source: the options `schemaController.compilersFactory` of Fastify.
 */
export function compileOnce<Build extends Builder> (build: Build): Build {
  const known = new WeakMap<object, unknown>()
  const once = (shared: object, options: unknown) => {
    const compile = build(shared as never, options as never)
    if (Object.keys(shared).length > 0) return compile
    return (part: { schema: unknown }) => {
      const { schema } = part
      if (typeof schema !== 'object' || schema === null) return compile(part as never)
      if (!known.has(schema)) known.set(schema, compile(part as never))
      return known.get(schema)
    }
  }
  // It takes and gives what the builder does, whose types the two builders do not share.
  return once as unknown as Build
}
