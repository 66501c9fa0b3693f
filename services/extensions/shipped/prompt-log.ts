import { appendFile, mkdir, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isText } from '../../shared/json.ts'
import { definePlugin, type PluginCall, type PluginContext } from '../types.ts'

export interface PromptLogOptions {
  /** The folder of the files `prompts-<day>.jsonl`. */
  folder: string
  /** Ids of the API keys whose requests are kept: others are never. */
  keys: readonly string[]
  /** Days after which a file is deleted; 30 by default. */
  days?: number
}

/** What is kept of a request until it ends. */
interface Kept { call: PluginCall, texts: Map<number, string>, isCut: boolean }

const dayMs = 86_400_000
const pruneEveryMs = 3_600_000
const maxTextLength = 1024 * 1024
const maxCallLength = 4 * 1024 * 1024
/** Lines beyond are dropped, so that a full disk does not fill the memory. */
const maxWaiting = 1_000

/**
 * Writes the prompts and responses of chosen keys as JSON lines, a file a day (UTC), readable by the
 * gateway's user alone. Files older than `days` are deleted at the start and every hour.
 */
export default definePlugin(async ({ folder, keys, days = 30 }: PromptLogOptions) => {
  if (!isText(folder)) throw new TypeError('needs the option folder')
  const areKeys = Array.isArray(keys) && keys.every(isText)
  if (!areKeys) throw new TypeError('needs the ids of API keys as the option keys')
  if (!Number.isInteger(days) || days < 1 || days > 3650) throw new TypeError('needs whole days from 1 to 3650')
  const place = resolve(folder)
  await mkdir(place, { recursive: true, mode: 0o700 })
  const chosen = new Set(keys)
  const kept = new WeakMap<PluginContext, Kept>()
  let writing: Promise<void> = Promise.resolve()
  let waiting = 0
  await prune(place, days)
  const pruning = setInterval(() => { prune(place, days).catch(() => {}) }, pruneEveryMs).unref()

  async function write (line: object): Promise<void> {
    if (waiting >= maxWaiting) throw new Error('The prompt log cannot be written fast enough.')
    waiting++
    const text = `${JSON.stringify(line)}\n`
    const append = async () => await appendFile(fileOf(place, Date.now()), text, { mode: 0o600 })
    const written = writing.then(append)
    writing = written.catch(() => {})
    await written.finally(() => { waiting-- })
  }

  function add (context: PluginContext, index: number, text: string): void {
    const one = kept.get(context)
    if (one === undefined) return
    const before = one.texts.get(index) ?? ''
    one.isCut ||= before.length + text.length > maxTextLength
    one.texts.set(index, (before + text).slice(0, maxTextLength))
  }

  return {
    name: 'tollgate/prompt-log',
    onError: 'skip',
    request (call, context) {
      if (chosen.has(context.key)) kept.set(context, { call, texts: new Map(), isCut: false })
    },
    chunk (piece, context) {
      for (const { index, delta } of piece.choices) add(context, index, delta.content ?? '')
    },
    response (completion, context) {
      for (const { index, message } of completion.choices) add(context, index, message.content ?? '')
    },
    async settled (record, context) {
      const one = context === null ? undefined : kept.get(context)
      if (one === undefined) return
      const { call, texts, isCut } = one
      const isLong = JSON.stringify(call.body).length > maxCallLength
      const prompt = isLong ? null : call.body
      const at = new Date().toISOString()
      await write({ at, ...record, request: prompt, responses: [...texts.values()], cut: isCut || isLong })
    },
    async close () {
      clearInterval(pruning)
      await writing
    }
  }
})

function fileOf (folder: string, atMs: number): string {
  return join(folder, `prompts-${new Date(atMs).toISOString().slice(0, 10)}.jsonl`)
}

/** Deletes the files of days before the retention. */
async function prune (folder: string, days: number): Promise<void> {
  const oldest = new Date(Date.now() - days * dayMs).toISOString().slice(0, 10)
  for (const name of await readdir(folder)) {
    const day = /^prompts-(\d{4}-\d{2}-\d{2})\.jsonl$/.exec(name)?.[1]
    if (day !== undefined && day < oldest) await rm(join(folder, name), { force: true })
  }
}
