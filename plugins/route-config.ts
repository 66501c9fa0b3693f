declare module 'fastify' {
  /** Facts about a route, for the plugins that serve all of them. */
  interface FastifyContextConfig {
    /** The answer may be what a provider sent, byte for byte, or a file: no serializer runs over it. */
    passThrough?: boolean
    /** The schema of the events of an answer that is streamed. */
    events?: object
  }
}

export {}
