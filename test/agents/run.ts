import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCodex } from './codex.ts'

// Programs from the registries, pointed at a gateway with a scripted provider behind it. With `--record`,
// what they send is kept as a fixture, which `npm test` replays.

type Record = (transcript: unknown) => Promise<void>

const programs: Readonly<{ [name: string]: (record: Record) => Promise<boolean> }> = { codex: runCodex }
const records = process.argv.includes('--record')
const maxText = 200

/** Without the length of prompts and descriptions, and what differs from run to run. */
function trimmed (value: unknown): unknown {
  if (typeof value === 'string') return value.length > maxText ? `${value.slice(0, maxText)}…` : value
  if (Array.isArray(value)) return value.map(trimmed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, trimmed(member)]))
}

for (const [name, run] of Object.entries(programs)) {
  const startedMs = performance.now()
  const done = await run(async transcript => {
    if (!records) return
    const file = join(import.meta.dirname, '..', 'fixtures', 'agents', `${name}.json`)
    await writeFile(file, `${JSON.stringify(trimmed(transcript), null, 2)}\n`)
  })
  if (done) process.stdout.write(`${name}: done in ${Math.round(performance.now() - startedMs)} ms\n`)
}
