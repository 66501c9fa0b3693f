/** One thing that is wrong in a configuration. Line and column count from 1; null where there is no file. */
export interface Problem {
  /** Where in the structure, e.g. `models[3].price.input`, or the name of an environment variable. */
  path: string
  line: number | null
  column: number | null
  message: string
}

/** A configuration that cannot be used. The message lists every problem, one per line, without secrets. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[]

  /** `source` names what was read, e.g. the path of the file. */
  constructor (source: string, problems: readonly Problem[]) {
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
    super([`${source} has ${count}:`, ...problems.map((problem) => `  ${describe(source, problem)}`)].join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

function describe (source: string, { path, line, column, message }: Problem): string {
  const place = line === null ? '' : `${source}:${line}:${column} `
  const subject = path === '' ? '' : `${path}: `
  return `${place}${subject}${message}`
}
