import { text } from 'node:stream/consumers'
import { PassThrough } from 'node:stream'
import type { Test } from 'tap'
import { runCommandLine } from '../../cli/run.ts'
import { createDatabase } from '../helpers/engines.ts'

export interface Ended { code: number, out: string, err: string }

/** Runs commands on one database, as separate processes would. */
export interface CommandLine {
  /** The URL of the database. */
  url: string
  run (...args: string[]): Promise<Ended>
  /** Runs a command with `--json` and parses its output. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each test knows its command's output
  json (...args: string[]): Promise<any>
  /** The number of times the gateway was started. */
  starts (): number
}

/** A command line with a database in which nothing was written yet. */
export async function createCommandLine (
  t: Test, engine: 'sqlite' | 'postgres' = 'sqlite', create = createDatabase
): Promise<CommandLine> {
  const { url } = await create(t, engine)
  let starts = 0
  const run = async (...args: string[]) => await runAt(url, args, { serve: async () => { starts++ } })
  return {
    url,
    run,
    starts: () => starts,
    async json (...args) {
      const { code, out, err } = await run(...args, '--json')
      if (code !== 0) throw new Error(`exit code ${code}: ${err}`)
      return JSON.parse(out)
    }
  }
}

interface Surroundings { serve?: () => Promise<void>, env?: NodeJS.ProcessEnv }

/** Runs one command on the database at a URL. */
export async function runAt (
  url: string, args: string[], { serve = async () => {}, env = {} }: Surroundings = {}
): Promise<Ended> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const printed = Promise.all([text(stdout), text(stderr)])
  const code = await runCommandLine(args, { stdout, stderr, serve, env: { ...env, DATABASE_URL: url } })
  stdout.end()
  stderr.end()
  const [out, err] = await printed
  return { code, out, err }
}
