import { createContext, Script, type Context } from 'node:vm'

/** A regular expression and what replaces its matches. */
export interface PatternRule { pattern: string, replacement: string }

/** Time limit of all patterns together for one request or chunk: they block the event loop. */
const limitMs = 200

const prepare = new Script(`
  const patterns = JSON.parse(rules).map(({ pattern, replacement }) => [new RegExp(pattern, 'gu'), replacement])
  const replaceIn = texts => JSON.stringify(JSON.parse(texts).map(text =>
    patterns.reduce((text, [pattern, replacement]) => text.replace(pattern, () => replacement), text)))
  function endBefore (text, end) {
    for (let before = -1; before !== end;) {
      before = end
      for (const [pattern] of patterns) {
        for (const { index, 0: { length } } of text.matchAll(pattern)) {
          if (index < end && index + length > end) end = index
        }
      }
    }
    return end
  }
`)
const replacing = new Script('replaceIn(given)')
const ending = new Script('endBefore(given, end)')

/**
 * Patterns of an operator, run with a time limit: V8 can end a regular expression that takes exponential time
 * only in a script of its own. Throws SyntaxError for an invalid pattern; methods throw for the time limit.
 */
export class BoundedPatterns {
  readonly #context: Context

  constructor (rules: readonly PatternRule[]) {
    this.#context = createContext({ rules: JSON.stringify(rules), given: '', end: 0 })
    prepare.runInContext(this.#context)
  }

  /** The texts with every match replaced. */
  replaceIn (texts: readonly string[]): string[] {
    this.#context.given = JSON.stringify(texts)
    return JSON.parse(replacing.runInContext(this.#context, { timeout: limitMs }))
  }

  /** The last place, at most `end`, that no match in the text reaches across. */
  endBefore (text: string, end: number): number {
    Object.assign(this.#context, { given: text, end })
    return Number(ending.runInContext(this.#context, { timeout: limitMs }))
  }
}
