import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCodex } from './codex.ts'
import { runAider, runClaudeCode } from './editors.ts'
import { jsJudges, pythonJudges, runJsJudge, runPythonJudge } from './judges.ts'

// Programs and client libraries from the registries, pointed at a gateway with scripted providers behind it.
// What cannot be installed is skipped, with a line that says so. With `--record`, what programs send is kept
// as a fixture, which `npm test` replays. Names as arguments run only those. A failure of a newest version is
// reported, and fails nothing.

type Record = (transcript: unknown) => Promise<void>
/** Resolves to what was done, in words; null: it could not be installed. */
type Run = (record: Record) => Promise<string | null>

const tasks = (count: number | null): string | null => count === null ? null : `${count} tasks`

const runs: Readonly<{ [name: string]: Run }> = {
  codex: async record => await runCodex(record),
  'claude-code': async record => await runClaudeCode(record),
  aider: runAider,
  ...Object.fromEntries(Object.keys(jsJudges).map(name => [name, async () => tasks(await runJsJudge(name))])),
  ...Object.fromEntries(pythonJudges.map(name => [name, async () => tasks(await runPythonJudge(name))]))
}
/** The same programs as published today. */
const newest: typeof runs = {
  'codex@latest': async () => await runCodex(unrecorded, 'latest'),
  'claude-code@latest': async () => await runClaudeCode(unrecorded, 'latest')
}

async function unrecorded (): Promise<void> {}

const records = process.argv.includes('--record')
const wanted = process.argv.slice(2).filter(arg => !arg.startsWith('-'))
const maxText = 80
const maxReport = 2_000

/** Without the length of prompts and descriptions, and what differs from run to run. */
function trimmed (value: unknown): unknown {
  if (typeof value === 'string') return value.length > maxText ? `${value.slice(0, maxText)}…` : value
  if (Array.isArray(value)) return value.map(trimmed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, trimmed(member)]))
}

for (const [name, run] of Object.entries(runs)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const startedMs = performance.now()
  const done = await run(async transcript => {
    if (!records) return
    const file = join(import.meta.dirname, '..', 'fixtures', 'agents', `${name}.json`)
    await writeFile(file, `${JSON.stringify(trimmed(transcript), null, 2)}\n`)
  })
  report(name, done, startedMs)
}

for (const [name, run] of Object.entries(newest)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const startedMs = performance.now()
  try {
    report(name, await run(unrecorded), startedMs)
  } catch (error) {
    process.stdout.write(`${name}: FAILED, which is only reported: ${String(error).slice(0, maxReport)}\n`)
  }
}

function report (name: string, done: string | null, startedMs: number): void {
  const line = done === null ? `${name}: SKIPPED` : `${name}: ${done} in ${Math.round(performance.now() - startedMs)} ms`
  process.stdout.write(`${line}\n`)
}
