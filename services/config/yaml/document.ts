import { isAlias, isCollection, isScalar, Lexer, LineCounter, parseDocument, visit } from 'yaml'
import type { Document, Scalar, YAMLError } from 'yaml'
import { ConfigError, type Problem } from '../config-error.ts'
import { substitute } from './substitute.ts'
import { formatPath, locate, pathOf, prefixes, rangeAt, rangeOf, type Path, type Range } from './path.ts'

const limits = { depth: 32, aliases: 10_000, problems: 1_000, tokens: 1_000_000 }

interface Finding { path: Path, message: string, range: Range }

export type YamlDocument = ReturnType<typeof parseYaml>

/**
 * Parses a YAML text and substitutes `${NAME}`. Syntax errors are among the problems. Throws ConfigError
 * for a text that would take seconds to parse.
 */
export function parseYaml (text: string, env: NodeJS.ProcessEnv, source = 'gateway.yaml') {
  refuseTooLong(text, source)
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true })
  const errors = [...document.errors, ...document.warnings]
  const findings: Finding[] = []
  const filled = prepare(document, env, findings)
  const wrong = new Set(findings.flatMap(({ path }) => prefixes(path)))
  // A syntax error may change the meaning of the text around and after it: ignore problems from there on.
  const soundUntil = Math.min(Infinity, ...errors.filter(distorts).map(({ pos }) => pos[0]))

  function report (path: Path, message: string, at: 'key' | 'value' = 'value') {
    if (wrong.has(formatPath(path))) return
    for (const prefix of prefixes(path)) wrong.add(prefix)
    findings.push({ path, message, range: rangeAt(document, path, at) })
  }

  return {
    /** The syntax is correct: an absent key is really absent. */
    sound: soundUntil === Infinity,
    /** A variable of the environment that has a meaning of its own; null if it is not set. */
    variable: (name: string): string | null => env[name] || null,
    value: (): unknown => toPlain(document, report),
    has: (path: Path): boolean => locate(document, path) !== undefined,
    /** The text of the scalar at a path before substitution; empty if there is none. */
    written (path: Path): string {
      const node = locate(document, path)
      return isScalar(node) ? (node.source ?? '').slice(0, 80) : ''
    },
    /** The exact text of the number or string at a path after substitution; undefined if there is none. */
    exact (path: Path): string | undefined {
      const node = locate(document, path)
      if (!isScalar(node)) return undefined
      if (typeof node.value === 'number') return node.source
      return typeof node.value === 'string' ? node.value : undefined
    },
    /** Where the value at a path begins; line and column count from 1. */
    place (path: Path): { line: number, column: number } {
      const { line, col } = lines.linePos(rangeAt(document, path, 'value')[0])
      return { line: Math.max(1, line), column: Math.max(1, col) }
    },
    /** Converts a substituted text at a path to `type`; returns whether that was possible. */
    convert (path: Path, type: 'number' | 'boolean'): boolean {
      const node = locate(document, path)
      return isScalar(node) && filled.has(node) && convertScalar(node, type)
    },
    /** Adds a problem at a path, unless there is one at or below it: one cause is reported once. */
    report,
    problems (): Problem[] {
      const syntax = errors.map(({ pos, code, message }): Finding => {
        return { path: [], range: pos, message: explain(code, message) }
      })
      const all = [...syntax, ...findings.filter(({ range }) => range[1] < soundUntil)]
        .sort((a, b) => a.range[0] - b.range[0])
        .map((finding) => toProblem(finding, lines))
      const more = { path: '', line: null, column: null, message: `and ${all.length - limits.problems} more` }
      return all.length > limits.problems ? [...all.slice(0, limits.problems), more] : all
    }
  }
}

/** Counts tokens before they become nodes, which take ten times as long. */
function refuseTooLong (text: string, source: string): void {
  let [tokens, offset] = [0, 0]
  for (const token of new Lexer().lex(text)) {
    offset += token.length
    if (++tokens <= limits.tokens) continue
    const before = text.slice(0, offset)
    throw new ConfigError(source, [{
      path: '',
      line: before.split('\n').length,
      column: offset - before.lastIndexOf('\n'),
      message: `there are more than ${limits.tokens} tokens of YAML up to here; list fewer models`
    }])
  }
}

/** Substitutes the environment and removes empty keys; returns the substituted scalars. */
function prepare (document: Document, env: NodeJS.ProcessEnv, findings: Finding[]): Set<Scalar> {
  const filled = new Set<Scalar>()
  const anchors = new Set<string>()
  visit(document, {
    Node (key, node, ancestors) {
      const note = (message: string) => {
        findings.push({ path: pathOf(key, ancestors), message, range: rangeOf(node) })
      }
      if (ancestors.filter(isCollection).length > limits.depth) {
        note(`is nested more than ${limits.depth} levels deep`)
        document.contents = null
        return visit.BREAK
      }
      if (isAlias(node)) {
        if (anchors.has(node.source)) return
        note(`the anchor &${node.source} is not defined`)
        return visit.REMOVE
      }
      if (node.anchor !== undefined) anchors.add(node.anchor)
      if (!isScalar(node) || typeof node.value !== 'string' || key === 'key') return
      const { text, problems } = substitute(node.value, env)
      problems.forEach(note)
      if (text === node.value) return
      node.value = text
      filled.add(node)
    },
    Pair (_, { value }) {
      if (isScalar(value) && value.value === null && value.anchor === undefined) return visit.REMOVE
    }
  })
  return filled
}

function toPlain (document: Document, report: YamlDocument['report']): unknown {
  try {
    return document.toJS({ maxAliasCount: limits.aliases })
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error
    report([], `has more than ${limits.aliases} aliases, including nested ones`)
    return undefined
  }
}

function convertScalar (scalar: Scalar, type: 'number' | 'boolean'): boolean {
  const text = String(scalar.value).trim()
  if (type === 'boolean' && /^(true|false)$/.test(text)) scalar.value = text === 'true'
  else if (type === 'number' && /^-?\d+(\.\d+)?$/.test(text)) scalar.value = Number(text)
  else return false
  return true
}

function toProblem ({ path, message, range }: Finding, lines: LineCounter): Problem {
  const { line, col } = lines.linePos(range[0])
  return { path: formatPath(path), line: Math.max(1, line), column: Math.max(1, col), message }
}

function distorts ({ name, code }: YAMLError): boolean {
  return name === 'YAMLParseError' && code !== 'DUPLICATE_KEY'
}

/** The parser's message without quoted text, which may be a secret. */
function explain (code: YAMLError['code'], message: string): string {
  if (code === 'DUPLICATE_KEY') return 'this key is a duplicate'
  if (code === 'MULTIPLE_DOCS') return 'only one YAML document is allowed'
  if (code === 'RESOURCE_EXHAUSTION') return 'is nested too deeply'
  return message.replace(/(?<=\w): .*$| \\.*$/s, '')
}
