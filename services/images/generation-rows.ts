import type { ClientPresence } from '../requests/joins/client-presence.ts'
import type { KnownWork } from '../requests/joins/joinable.ts'
import type { GeneratedImages } from '../providers/provider-image.ts'
import { countsAsCharged } from '../billing/ledger/hold/counts-as-charged.ts'
import { createJobHolds, type Booking } from '../billing/ledger/hold/job-holds.ts'
import type { EntryRow } from '../billing/ledger/sql/rows.ts'
import { expireMedia } from '../media/rows.ts'
import { GatewayError } from '../shared/errors.ts'
import type { Queries, Store } from '../store/store.ts'

/** What a generation has made, as every client that waits for it may get it. */
export interface Made {
  model: string | null
  provider: string | null
  upstreamModel: string | null
  headers: Record<string, string>
  /** What the account is charged, in nano-USD. */
  costNano: number
  /** The hold and the posting of the charge; null if nothing was held. */
  booking: Booking | null
  answer: Pick<GeneratedImages, 'chosen' | 'usage'>
  /** Ids of the stored media. */
  images: { media: string, revisedPrompt: string | null }[]
}

export interface Generation extends KnownWork {
  state: 'running' | 'succeeded' | 'failed'
  owner: string
  /** How long the heartbeat of its node is overdue, in ms; null: the node is not known. */
  silentMs: number | null
  made: Made | null
  failure: GatewayError | null
}

type NewGeneration = Pick<Generation, 'id' | 'bodyHash' | 'createdAt'> & { apiKey: string, dedupe: string | null }

interface Row extends Omit<Generation, 'delivered' | 'made' | 'failure'> {
  delivered: number
  result: string | null
  error: string | null
}

const selected = `
  select generation.id, state, owner, body_hash as "bodyHash", delivered, result, error,
  created_at as "createdAt", expires_at as "expiresAt", now_ms() - heartbeat_at as "silentMs"
  from generation left join node on node.id = generation.owner`

export type GenerationRows = ReturnType<typeof createGenerationRows>

/** Writes the statements on generations of images for one node. Methods throw StoreUnavailable. */
export function createGenerationRows (store: Store, node: string, clientPresence: ClientPresence) {
  const holds = createJobHolds(store.engine)

  /** Keeps what was recorded; false if it failed meanwhile. */
  async function succeed (queries: Queries, id: string, expiresAt: number): Promise<boolean> {
    return await queries.run(`
      update generation set state = 'succeeded', expires_at = $2
      where id = $1 and state <> 'failed' and result is not null`, [id, expiresAt]) === 1
  }

  async function fail (
    queries: Queries, id: string, error: GatewayError, nowMs: number, stored: readonly string[]
  ): Promise<void> {
    const { status, type, message, param, code, headers } = error
    const failed = await queries.run(`
      update generation set state = 'failed', dedupe = null, error = $2, expires_at = $3
      where id = $1 and state = 'running'`,
    [id, JSON.stringify({ status, type, message, param, code, headers }), nowMs])
    if (failed === 1) await expireMedia(queries, stored, nowMs)
  }

  return {
    /** Inserts a running generation and its first waiter; false when the key has one of that `dedupe`. */
    async insert (
      { id, apiKey, dedupe, bodyHash, createdAt }: NewGeneration, clientId: string
    ): Promise<boolean> {
      return await store.transaction(async queries => {
        const inserted = await queries.run(`
          insert into generation (id, api_key, dedupe, body_hash, state, owner, created_at)
          values ($1, $2, $3, $4, 'running', $5, $6) on conflict do nothing`,
        [id, apiKey, dedupe, bodyHash, node, createdAt]) === 1
        if (inserted) await clientPresence.add(queries, id, clientId)
        return inserted
      })
    },

    async get (id: string): Promise<Generation | undefined> {
      const row = await store.get<Row>(`${selected} where generation.id = $1`, [id])
      return row && toGeneration(row)
    },

    async named (apiKey: string, dedupe: string): Promise<Generation | undefined> {
      const row = await store.get<Row>(`${selected} where api_key = $1 and dedupe = $2`, [apiKey, dedupe])
      return row && toGeneration(row)
    },

    /** As `WorkRows` says. */
    async alike (
      apiKey: string, bodyHash: string, { sinceMs, nowMs }: { sinceMs: number, nowMs: number }
    ): Promise<Generation[]> {
      const rows = await store.all<Row>(`
        ${selected} where api_key = $1 and body_hash = $2 and dedupe is null and delivered = 0 and (
          (state = 'running' and created_at >= $3) or (state = 'succeeded' and expires_at > $4))
        order by +created_at, generation.id limit 100`, [apiKey, bodyHash, sinceMs, nowMs])
      return rows.map(toGeneration)
    },

    /**
     * As `WorkRows` says; `lost` is null for a request by its name: it joins beside other clients, and also
     * what is delivered.
     */
    async claim (id: string, clientId: string, lost: readonly string[] | null): Promise<boolean> {
      return await store.transaction(async queries => {
        // Its client may have received it since it was found.
        const locked = await queries.run(`
          update generation set delivered = delivered
          where id = $1 and state <> 'failed' and (delivered = 0 or $2 = 1)`, [id, lost === null ? 1 : 0])
        if (locked === 0) return false
        const others = lost === null ? [] : await clientPresence.of([id], queries)
        if (others.some(other => lost?.includes(other.id) !== true)) return false
        for (const other of others) await clientPresence.remove(queries, other.id)
        await clientPresence.add(queries, id, clientId)
        return true
      })
    },

    /** Records that a client no longer waits. */
    async leave (clientId: string): Promise<void> { await clientPresence.remove(store, clientId) },

    /** Records that a client has received the whole answer. */
    async deliver (id: string, clientId: string): Promise<void> {
      await store.transaction(async queries => {
        await queries.run('update generation set delivered = 1 where id = $1', [id])
        await clientPresence.remove(queries, clientId)
      })
    },

    /**
     * Records what was made, which is not charged yet: the generation still runs. False if another node has
     * ended it.
     */
    async record (id: string, made: Made): Promise<boolean> {
      return await store.run(`
        update generation set result = $2 where id = $1 and state = 'running'`, [id, JSON.stringify(made)]) === 1
    },

    /** Keeps what was recorded until `expiresAt`, once it is charged; false if another node has failed it. */
    async succeed (id: string, expiresAt: number): Promise<boolean> {
      return await succeed(store, id, expiresAt)
    },

    /**
     * Ends a generation whose node is silent: it is kept until `expiresAt` if it was charged, else it fails.
     * Then what was recorded is booked to suspense, so that its node cannot charge it later. Returns those
     * entries.
     */
    async endLost (
      id: string, error: GatewayError, { nowMs, expiresAt }: { nowMs: number, expiresAt: number }
    ): Promise<EntryRow[]> {
      return await store.transaction(async queries => {
        // Its node may record something meanwhile.
        const row = await queries.get<{ result: string | null }>(
          "update generation set state = state where id = $1 and state = 'running' returning result", [id])
        if (row === undefined) return []
        const made: Made | null = row.result === null ? null : JSON.parse(row.result)
        const booking = made?.booking ?? null
        // First: it locks the accounts, so that the charge is booked before or never.
        const suspended = booking === null
          ? []
          : await holds.suspend(queries, booking.hold, booking.posting, nowMs)
        const isCharged = booking !== null && await countsAsCharged(queries, booking.hold.id)
        if (isCharged) await succeed(queries, id, expiresAt)
        else await fail(queries, id, error, nowMs, mediaOf(made))
        return suspended
      })
    },

    /** Ends a running generation and frees its name, at `nowMs`; what it had stored expires. */
    async fail (
      id: string, error: GatewayError, nowMs: number, stored: readonly string[] = []
    ): Promise<void> {
      await store.transaction(async queries => await fail(queries, id, error, nowMs, stored))
    },

    /** Frees the Idempotency-Key of a generation whose result has expired. */
    async forgetName (id: string, nowMs: number): Promise<void> {
      await store.run('update generation set dedupe = null where id = $1 and expires_at <= $2', [id, nowMs])
    },

    /** Deletes what was created before a time. */
    async prune (beforeMs: number): Promise<void> {
      await store.run('delete from generation where created_at < $1', [beforeMs])
    }
  }
}

/** The ids of what is stored. */
export function mediaOf (made: Made | null): string[] {
  return made === null ? [] : made.images.map(({ media }) => media)
}

function toGeneration ({ delivered, result, error, ...row }: Row): Generation {
  const failure = error === null ? null : JSON.parse(error)
  return {
    ...row,
    delivered: delivered === 1,
    made: result === null ? null : JSON.parse(result),
    failure: failure && new GatewayError(failure.status, failure.type, failure.message, failure)
  }
}
