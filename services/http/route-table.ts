import { escapePattern } from '../shared/escape-pattern.ts'

/** The methods that are served at each path. */
export interface RouteTable {
  /** Adds a route; `pattern` may hold `:name`, `:name(^regular expression$)` and `*`. */
  add (methods: readonly string[], pattern: string): void
  /** The methods served at a path, sorted; empty for an unknown path. */
  methodsAt (path: string): string[]
}

/** Creates an empty route table. Only unmatched requests look it up, so it may be slow. */
export function createRouteTable (): RouteTable {
  const routes: { pattern: RegExp, methods: readonly string[] }[] = []
  return {
    add (methods, pattern) {
      routes.push({ pattern: toRegExp(pattern), methods })
    },
    methodsAt (path) {
      const matching = routes.filter(({ pattern }) => pattern.test(path))
      return [...new Set(matching.flatMap(({ methods }) => methods))].sort()
    }
  }
}

const parameter = /:\w+(?:\(\^(.*)\$\))?|\*/

/** URLPattern would resolve dot segments first, which the router does not. */
function toRegExp (pattern: string): RegExp {
  let source = ''
  let rest = pattern
  for (let found = parameter.exec(rest); found !== null; found = parameter.exec(rest)) {
    const [text, own = '[^/]+'] = found
    source += escapePattern(rest.slice(0, found.index)) + (text === '*' ? '.*' : `(?:${own})`)
    rest = rest.slice(found.index + text.length)
  }
  return new RegExp(`^${source}${escapePattern(rest)}$`)
}
