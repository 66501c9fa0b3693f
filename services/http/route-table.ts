/** Knows which methods are served at which path. */
export interface RouteTable {
  /** Adds a route; `pattern` may hold `:names` and `*`. */
  add (methods: readonly string[], pattern: string): void
  /** The methods served at a path, sorted; none when nothing is. */
  methodsAt (path: string): string[]
}

/** An empty route table. It is asked only about requests that no route took, so it may be slow. */
export function createRouteTable (): RouteTable {
  const routes: { pattern: URLPattern, methods: readonly string[] }[] = []
  return {
    add (methods, pattern) {
      routes.push({ pattern: new URLPattern({ pathname: pattern }), methods })
    },
    methodsAt (pathname) {
      const matching = routes.filter(({ pattern }) => pattern.test({ pathname }))
      return [...new Set(matching.flatMap(({ methods }) => methods))].sort()
    }
  }
}
