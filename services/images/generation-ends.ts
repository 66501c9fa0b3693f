import { countsAsCharged } from '../billing/ledger/hold/counts-as-charged.ts'
import { createJobHolds } from '../billing/ledger/hold/job-holds.ts'
import type { EntryRow } from '../billing/ledger/sql/rows.ts'
import { expireMedia } from '../media/rows.ts'
import type { GatewayError } from '../shared/errors.ts'
import type { Queries, Store } from '../store/store.ts'
import { mediaOf, type Made } from './generation.ts'

/** Creates the statements that end a generation. Methods throw StoreUnavailable. */
export function createGenerationEnds (store: Store) {
  const holds = createJobHolds(store.engine)
  return {
    /** Records what was made, before its charge. False if another node has ended the generation. */
    async record (id: string, made: Made): Promise<boolean> {
      return await store.run(`
        update generation set result = $2 where id = $1 and state = 'running'`, [id, JSON.stringify(made)]) === 1
    },

    /** Keeps what was recorded and charged until `expiresAt`; false if another node has failed it. */
    async succeed (id: string, expiresAt: number): Promise<boolean> {
      return await succeed(store, id, expiresAt)
    },

    /** Ends a running generation and frees its name, at `nowMs`; what it had stored expires. */
    async fail (
      id: string, error: GatewayError, nowMs: number, stored: readonly string[] = []
    ): Promise<void> {
      await store.transaction(async queries => await fail(queries, id, error, nowMs, stored))
    },

    /**
     * Ends a generation whose node is silent: it is kept until `expiresAt` if it was charged, else it fails.
     * If it fails, its charge is booked to suspense, so that its node cannot charge it later. Returns those
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
    }
  }
}

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
