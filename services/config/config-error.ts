/** One mistake in a configuration. Line and column count from 1; null if there is no file. */
export interface Problem {
  /** A path such as `models[3].price.input`, or the name of an environment variable. */
  path: string
  line: number | null
  column: number | null
  message: string
}

/** The message lists every problem, one per line, without secrets. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[]

  /** `source` is the origin of the settings, e.g. the path of a file. */
  constructor (source: string, problems: readonly Problem[]) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
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
