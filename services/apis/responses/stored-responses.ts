import type { ResponseInputItem } from '../../../schemas/openai/response-items.ts'
import type { ResponseObject } from '../../../schemas/openai/responses.ts'
import { GatewayError } from '../../shared/errors.ts'
import { createJsonIds } from '../../store/json-rows.ts'
import type { Queries, Store } from '../../store/store.ts'

/** What earlier turns have said, oldest first, and its length as JSON. */
export interface ResponseHistory { items: ResponseInputItem[], bytes: number }

/** A response to keep. */
export interface KeptResponse {
  account: string
  response: ResponseObject
  /** The items of the request alone. */
  input: readonly ResponseInputItem[]
  previous: string | null
  /** The length of earlier turns. */
  historyBytes: number
}

/** Responses by account: none sees those of another. All methods throw StoreUnavailable. */
export type StoredResponses = ReturnType<typeof createStoredResponses>

export interface ResponseRetention {
  keepMs: number
  /** Most bytes of the responses of an account; the oldest make room for a new one. */
  accountBytes: number
}

/** The most bytes of a conversation that is kept, and its most turns. */
const maxBytes = 16 * 1024 * 1024
const maxTurns = 1000
/** Rows deleted at once. */
const pruneRows = 500
/** How full an account is after its oldest have gone: not every response has to look for them. */
const fullShare = 0.9

interface StoredId { account: string, id: string }
interface Row { input: string, body: string, previous: string | null, bytes: number }

/** Creates the store of responses. */
export function createStoredResponses (store: Store, { keepMs, accountBytes }: ResponseRetention) {
  const { clock } = store
  const ids = createJsonIds(store.engine)
  const withItems = `
    select id, length(body) as length from response where account = $2 and expires_at > $3 and id in (
      select response from response_item where account = $2 and id in (select id from ${ids.sql} as given))`

  async function removeAll (rows: readonly StoredId[]): Promise<void> {
    await store.transaction(async queries => {
      for (const { account, id } of rows) await remove(queries, account, id)
    })
  }

  /** Deletes the oldest responses of an account if there is no room for `bytes` more. */
  async function makeRoom (account: string, bytes: number): Promise<void> {
    const stored = await store.get<{ bytes: number }>(storedBytes, [account])
    let after = Number(stored?.bytes ?? 0) + bytes
    if (after <= accountBytes) return
    const leaving: StoredId[] = []
    for (const row of await store.reports.all<StoredId & { bytes: number }>(oldest, [account])) {
      if (after <= accountBytes * fullShare) break
      after -= Number(row.bytes)
      leaving.push(row)
    }
    for (let at = 0; at < leaving.length; at += pruneRows) {
      await removeAll(leaving.slice(at, at + pruneRows))
    }
  }

  return {
    /** Keeps a response, in place of the oldest of its account; false if its conversation is too long. */
    async keep ({ account, response, input, previous, historyBytes }: KeptResponse): Promise<boolean> {
      const [inputText, body] = [JSON.stringify(input), JSON.stringify(response)]
      const ownBytes = Buffer.byteLength(inputText) + Buffer.byteLength(body)
      const bytes = historyBytes + ownBytes
      if (bytes > maxBytes || ownBytes > accountBytes) return false
      await makeRoom(account, ownBytes)
      const nowMs = clock()
      await store.transaction(async queries => {
        await queries.run(insert,
          [account, response.id, previous, nowMs, nowMs + keepMs, bytes, inputText, body])
        for (const { id } of response.output) {
          if (id !== undefined) await queries.run(insertItem, [account, id, response.id])
        }
      })
      return true
    },

    /** The turns up to a response. Throws GatewayError 400 if it, or one before it, is not kept. */
    async history (account: string, id: string): Promise<ResponseHistory> {
      const turns = await store.all<Row>(chain, [account, id, clock(), maxTurns])
      if (turns.length === 0 || turns[0]?.previous !== null) throw previousNotFound(id)
      const items = turns.flatMap(({ input, body }): ResponseInputItem[] => {
        return [...JSON.parse(input), ...JSON.parse(body).output]
      })
      return { items, bytes: Number(turns.at(-1)?.bytes ?? 0) }
    },

    async get (account: string, id: string): Promise<ResponseObject> {
      return JSON.parse((await rowOf(store, account, id, clock())).body)
    },

    async input (account: string, id: string): Promise<ResponseInputItem[]> {
      return JSON.parse((await rowOf(store, account, id, clock())).input)
    },

    /**
     * The output items of these ids, as far as they are kept; each response is read once. Throws GatewayError
     * 413 if they, with `historyBytes` of earlier turns, are more than a conversation may have.
     */
    async items (
      account: string, wanted: ReadonlySet<string>, historyBytes: number
    ): Promise<Map<string, ResponseInputItem>> {
      const found = new Map<string, ResponseInputItem>()
      if (wanted.size === 0) return found
      const responses = await store.all<{ id: string, length: number }>(
        withItems, [ids.parameter(wanted), account, clock()])
      const bytes = responses.reduce((sum, { length }) => sum + Number(length), historyBytes)
      if (bytes > maxBytes) throw tooMuchStored()
      for (const { id } of responses) {
        const { output }: { output: (ResponseInputItem & { id?: string })[] } =
          JSON.parse((await rowOf(store, account, id, clock())).body)
        for (const item of output) if (item.id !== undefined && wanted.has(item.id)) found.set(item.id, item)
      }
      return found
    },

    async delete (account: string, id: string): Promise<void> {
      await rowOf(store, account, id, clock())
      await removeAll([{ account, id }])
    },

    /** Deletes what has expired; resolves to how many responses. */
    async prune (): Promise<number> {
      let deleted = 0
      for (;;) {
        const rows = await store.all<StoredId>(
          'select account, id from response where expires_at <= $1 order by expires_at limit $2', [clock(), pruneRows])
        await removeAll(rows)
        deleted += rows.length
        if (rows.length < pruneRows) return deleted
      }
    }
  }
}

const insert = `
  insert into response (account, id, previous, created_at, expires_at, bytes, input, body)
  values ($1, $2, $3, $4, $5, $6, $7, $8)
  on conflict (account, id) do nothing`
const insertItem = `
  insert into response_item (account, id, response) values ($1, $2, $3) on conflict (account, id) do nothing`
const storedBytes = 'select bytes from response_bytes where account = $1'
const oldest = `
  select account, id, octet_length(input) + octet_length(body) as bytes from response where account = $1
  order by created_at, id`
/** The turns of a conversation, oldest first. */
const chain = `
  with recursive chain (id, previous, input, body, bytes, depth) as (
    select id, previous, input, body, bytes, 0 from response
    where account = $1 and id = $2 and expires_at > $3
    union all
    select response.id, response.previous, response.input, response.body, response.bytes, chain.depth + 1
    from chain join response on response.id = chain.previous
    where response.account = $1 and response.expires_at > $3 and chain.depth < $4
  )
  select previous, input, body, bytes from chain order by depth desc`

async function remove (queries: Queries, account: string, id: string): Promise<void> {
  await queries.run('delete from response_item where account = $1 and response = $2', [account, id])
  await queries.run('delete from response where account = $1 and id = $2', [account, id])
}

async function rowOf (queries: Pick<Queries, 'get'>, account: string, id: string, nowMs: number): Promise<Row> {
  const row = await queries.get<Row>(
    'select input, body, previous, bytes from response where account = $1 and id = $2 and expires_at > $3', [account, id, nowMs])
  if (row === undefined) throw responseNotFound(id)
  return row
}

function responseNotFound (id: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error', `Response with id '${id.slice(0, 200)}' not found.`)
}

/** 400 for `previous_response_id`, with the words of OpenAI. */
export function previousNotFound (id: string): GatewayError {
  return GatewayError.invalidRequest(`Previous response with id '${id.slice(0, 200)}' not found.`,
    { param: 'previous_response_id', code: 'previous_response_not_found' })
}

/** 413: the responses of the items that a request names have more than a conversation may. */
function tooMuchStored (): GatewayError {
  const message = `The stored responses of the items that 'input' names have more than ${maxBytes} bytes together. ` +
    'Send the items themselves.'
  return new GatewayError(413, 'invalid_request_error', message, { param: 'input', code: 'request_too_large' })
}

/** 404 for an item that is sent by its id alone, with the words of OpenAI. */
export function itemNotFound (id: string): GatewayError {
  const message = `Item with id '${id.slice(0, 200)}' not found. Items are not persisted when \`store\` is set to ` +
    'false. Try again with `store` set to true, or remove this item from your input.'
  return new GatewayError(404, 'invalid_request_error', message, { param: 'input' })
}
