import type { Store, Value } from '../store/store.ts'
import { finalStates, liveStates, type Job, type JobState } from './job.ts'

const names = [
  'id', 'account', 'apiKey', 'chain', 'tags', 'model', 'candidates', 'candidate', 'dedupe', 'bodyHash', 'task', 'baseUrl', 'state',
  'owner', 'fence', 'handle', 'progress', 'attempts', 'deadlineAt', 'hold', 'heldNano', 'secondNano', 'seconds', 'costNano',
  'waiterLeftAt', 'delivered', 'background', 'cancel', 'videos', 'failure', 'copyError', 'createdAt', 'submittedAt', 'polledAt', 'finishedAt',
  'expiresAt', 'deletedAt'
] as const
type Name = typeof names[number]

/** Columns that are not named like their property in snake case. */
const otherColumns: Partial<Record<Name, string>> = {
  task: 'request', heldNano: 'amount', secondNano: 'second_price', costNano: 'cost', videos: 'result', failure: 'error'
}

const columnOf = (name: Name) => otherColumns[name] ?? name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

/** All columns of the table `job`, as a statement selects a `JobRow`. */
export const columns = names.map(name => `${columnOf(name)} as "${name}"`).join(', ')

/** The same without the pictures of the task, which may be megabytes. */
export function columnsWithoutFrames (engine: Store['engine']): string {
  const task = engine === 'postgres'
    ? "(cast(request as jsonb) || '{\"firstFrame\": null, \"lastFrame\": null}')::text"
    : "json_set(request, '$.firstFrame', null, '$.lastFrame', null)"
  return columns.replace('request as', `${task} as`)
}

export interface JobRow extends Pick<Job, Exclude<Name & keyof Job, keyof Encoded>>, Encoded {}

interface Encoded {
  chain: string
  tags: string | null
  candidates: string
  task: string
  state: string
  hold: string | null
  heldNano: number
  delivered: number
  cancel: number
  videos: string | null
  failure: string | null
  copyError: string | null
}

export type JobChange = Partial<Pick<Job, 'state' | 'candidate' | 'handle' | 'progress' | 'attempts' | 'task' | 'dedupe' |
  'deadlineAt' | 'costNano' | 'videos' | 'failure' | 'copyError' | 'submittedAt' | 'polledAt' | 'finishedAt' | 'expiresAt'>>

/** The columns of a job or of a change, and their values. */
export function toColumns ({ chain, hold, ...plain }: Partial<Job>): Record<string, Value> {
  const values: Partial<Record<Name, unknown>> = {
    ...plain, chain: chain?.join(' '), hold: hold && hold.id, heldNano: hold?.amountNano
  }
  const given = names.filter(name => values[name] !== undefined)
  return Object.fromEntries(given.map(name => [columnOf(name), toValue(values[name])]))
}

/** Objects become JSON that Postgres can read: without the character NUL and halves of characters. */
function toValue (value: unknown): Value {
  if (typeof value === 'boolean') return Number(value)
  if (typeof value === 'number' || typeof value === 'string' || value === null) return value
  return JSON.stringify(value, (_key, part: unknown) => typeof part === 'string' ? storable(part) : part)
}

const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

/** The job of a row. Throws an Error for a state that this version does not know. */
export function toJob (row: JobRow): Job {
  const { heldNano, ...values } = row
  const chain = row.chain.split(' ')
  return {
    ...values,
    chain,
    tags: row.tags === null ? null : JSON.parse(row.tags),
    candidates: JSON.parse(row.candidates),
    task: JSON.parse(row.task),
    state: stateOf(row.state),
    hold: row.hold === null ? null : { id: row.hold, chain, key: row.apiKey, amountNano: heldNano },
    delivered: row.delivered === 1,
    cancel: row.cancel === 1,
    videos: row.videos === null ? [] : JSON.parse(row.videos),
    failure: row.failure === null ? null : JSON.parse(row.failure),
    copyError: row.copyError === null ? null : JSON.parse(row.copyError)
  }
}

function stateOf (text: string): JobState {
  const state = [...liveStates, ...finalStates].find(name => name === text)
  if (state === undefined) throw new Error(`A job has the unknown state ${text}.`)
  return state
}
