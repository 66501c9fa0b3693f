import type { ClientPresence } from '../requests/joins/client-presence.ts'
import { GatewayError } from '../shared/errors.ts'
import type { Store } from '../store/store.ts'
import { createGenerationEnds } from './generation-ends.ts'
import type { Generation } from './generation.ts'

interface NewGeneration extends Pick<Generation, 'id' | 'bodyHash' | 'createdAt'> {
  apiKey: string
  /** The Idempotency-Key; null if the request has none. */
  dedupe: string | null
}

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

/**
 * Creates the statements on generations of images for one node: a short method each. Methods throw
 * StoreUnavailable.
 */
export function createGenerationRows (store: Store, node: string, clientPresence: ClientPresence) {
  return {
    ...createGenerationEnds(store),

    /** Inserts a running generation and its first client; false when the key has one of that `dedupe`. */
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

    /** As in `WorkRows`. */
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
     * As in `WorkRows`; `lost` is null for a request with an Idempotency-Key, which joins beside other
     * clients, and also what is delivered.
     */
    async claim (id: string, clientId: string, lost: readonly string[] | null): Promise<boolean> {
      return await store.transaction(async queries => {
        // Its client may have received it since it was found.
        const locked = await queries.run(`
          update generation set delivered = delivered
          where id = $1 and state <> 'failed' and (delivered = 0 or $2 = 1)`, [id, lost === null ? 1 : 0])
        return locked === 1 && await clientPresence.join(queries, id, { clientId, lost })
      })
    },

    /** Records that a client no longer waits. */
    async leave (clientId: string): Promise<void> { await clientPresence.remove(store, clientId) },

    /** Records that a client has received the whole response. */
    async deliver (id: string, clientId: string): Promise<void> {
      await store.transaction(async queries => {
        await queries.run('update generation set delivered = 1 where id = $1', [id])
        await clientPresence.remove(queries, clientId)
      })
    },

    /** Frees the Idempotency-Key of a generation whose result has expired. */
    async forgetName (id: string, nowMs: number): Promise<void> {
      await store.run('update generation set dedupe = null where id = $1 and expires_at <= $2', [id, nowMs])
    },

    /** Deletes generations that were created before a time. */
    async prune (beforeMs: number): Promise<void> {
      await store.run('delete from generation where created_at < $1', [beforeMs])
    }
  }
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
