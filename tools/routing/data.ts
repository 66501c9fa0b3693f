import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { promptText } from '../../services/routing/text/prompt-text.ts'
import type { ChatMessage } from '../../schemas/openai/chat-messages.ts'

/** One prompt and how well each model answered it, 0 to 1. */
export interface TrainingRow {
  id: string
  /** The benchmark it is from. */
  family: string
  /** Its subject within the benchmark, where that has several. */
  sub?: string
  messages: ChatMessage[]
  tools?: unknown[]
  y: Record<string, number>
  /** Tokens of each model's answer. */
  out?: Record<string, number>
}

/** The data to train on; see the README of this folder. */
export interface TrainingData {
  rows: TrainingRow[]
  models: Record<string, ModelRow>
  defaultOutput: Record<string, number>
  speeds: SpeedRow[]
  programming: ProgrammingRow[]
}

export interface ModelRow {
  /** USD per million tokens; null: no price was published. */
  price_in: number | null
  price_out: number | null
  aliases?: string[] | null
}

interface SpeedRow {
  model: string, blockrun_latency_ms: number, blockrun_output_tokens: number, price_output_1m: number
}
interface ProgrammingRow { model: string, pass_rate_2: number, date: string, total_cost: number }

/** Reads compressed files of one JSON object per line. */
export function readRows (folder: string, names: readonly string[]): TrainingRow[] {
  return names.flatMap(name => {
    const text = gunzipSync(readFileSync(join(folder, `${name}.jsonl.gz`))).toString('utf8')
    return text.trim().split('\n').map(line => withPlainNames(JSON.parse(line)))
  })
}

/** Sources spell the names of models in different cases. */
function withPlainNames (row: TrainingRow): TrainingRow {
  return { ...row, y: lowerCased(row.y), ...(row.out === undefined ? {} : { out: lowerCased(row.out) }) }
}

function lowerCased<Value> (record: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Reads the rows of some files and the data on models beside them. */
export function readTrainingData (folder: string, names = ['train', 'val']): TrainingData {
  const json = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))
  const { models, default_output_tokens: defaultOutput } = json('models.json')
  return {
    rows: readRows(folder, names),
    models: lowerCased(models),
    defaultOutput,
    speeds: json('latency_measured_2026-03.json').models,
    programming: json('aider_polyglot.json').rows
  }
}

/** The text of a row as the router reads it. */
export function rowText (row: TrainingRow): string {
  return promptText(row.messages)
}

/** Creates a seeded generator of numbers from 0 up to 1 (mulberry32). */
export function createRandom (seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
