import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { gatewayActor, recordChange, type Actor } from '../../store/audit.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isoTime } from '../../shared/iso-time.ts'
import type { Queries, Store } from '../../store/store.ts'
import {
  idsOf, lockLines, readLine, refuseClosed, refuseTooDeep, refuseUnknownParent, type AccountLine
} from './account-line.ts'
import { bookCredits, movementsBetween } from './book-credits.ts'
import { accountBusy } from './errors.ts'
import { createRecall } from './recall.ts'
import { createStatements } from './sql/statements.ts'

interface Closing { takeOut?: boolean, reason?: string | null }

/** After this time, every node has noticed that an account is frozen: caches of keys last a second. */
const noticedMs = 3_000

/** Creates the moves of accounts and their end. Methods throw StoreUnavailable, GatewayError 404. */
export function createAccountMoves (store: Store, clock = store.clock) {
  const statements = createStatements(store.engine)
  const recall = createRecall(store)

  /** Running requests are charged to the parents of before, so there must be none. */
  async function settleDown (id: string): Promise<void> {
    const [{ frozenAt }] = await readLine(store, id)
    if (frozenAt === null) throw accountBusy(id, 'account_not_frozen', 'must be frozen, so that no request runs')
    await sleep(Math.min(noticedMs, Math.max(0, frozenAt + noticedMs - clock())))
    await recall.all(id)
  }

  return {
    /**
     * Moves a frozen account with its money to another parent, or to none. Throws GatewayError 400 for a
     * wrong parent, 409 while it is not frozen or something is held, LacksCredit if its parents lack money.
     */
    async move (id: string, parent: string | null, actor = gatewayActor): Promise<void> {
      if (parent !== null) await refuseUnknownParent(store, parent)
      if ((await readLine(store, id))[0].parent === parent) return
      await settleDown(id)
      await recall.taking(async queries => {
        const at = clock()
        const [line, above] = await lockLines(statements, queries, parent === null ? [id] : [id, parent])
        if (line === undefined || line[0].parent === parent) return
        refuseClosed(line)
        if (line[0].frozenAt === null || line[0].heldNano > 0) throw accountHolds(line)
        if (above !== undefined) await refuseWrongPlace(queries, id, above)
        await moveMoney(queries, line, above ?? null, { at, actor })
        await queries.run('update account set parent = $2 where id = $1', [id, parent])
        const facts = { before: { parent: line[0].parent }, after: { parent } }
        await recordChange(queries, { actor, action: 'account.move', target: `account:${id}`, ...facts, at })
      })
    },

    /**
     * Closes an account for good. With `takeOut`, what is left goes to its parent, or out of the books
     * without one. Throws GatewayError 409 while something is held or left, or an account below is open.
     */
    async close (id: string, closing: Closing = {}, actor = gatewayActor): Promise<void> {
      const { takeOut = false, reason = null } = closing
      await recall.all(id)
      await store.transaction(async queries => {
        const at = clock()
        const [line] = await lockLines(statements, queries, [id])
        refuseClosed(line)
        await refuseOpenBelow(queries, id)
        if (line[0].heldNano > 0) throw accountHolds(line)
        await payOut(queries, line, takeOut, { at, actor })
        await queries.run('update account set closed_at = $2 where id = $1', [id, at])
        const after = { closed_at: isoTime(at), ...(reason !== null && { reason }) }
        await recordChange(queries, { actor, action: 'account.close', target: `account:${id}`, after, at })
      })
    }
  }
}

interface Occasion { at: number, actor: Actor }

/** An account keeps its money, which becomes part of its new parents' money instead of the old ones'. */
async function moveMoney (
  queries: Queries, [account, ...before]: AccountLine, above: AccountLine | null, { at, actor }: Occasion
): Promise<void> {
  const amountNano = account.creditsNano - account.spentNano
  if (amountNano <= 0) return
  const [parent = null] = before
  const from = parent === null ? null : [parent, ...before.slice(1)] as const
  await bookCredits(queries, {
    id: `move:${randomUUID()}`,
    kind: 'transfer',
    debit: parent?.id ?? account.id,
    credit: above?.[0].id ?? account.id,
    amountNano,
    reason: `the account ${account.id} moved to ${above?.[0].id ?? 'no parent'}`,
    at,
    actor
  }, movementsBetween(from, above, amountNano))
}

async function payOut (
  queries: Queries, line: AccountLine, takeOut: boolean, { at, actor }: Occasion
): Promise<void> {
  const [account, ...above] = line
  const amountNano = account.creditsNano - account.spentNano
  if (amountNano === 0) return
  if (!takeOut || amountNano < 0) {
    const why = `has a balance of ${amountNano} nano-USD; take it out with 'take_out'`
    throw accountBusy(account.id, 'account_not_empty', why)
  }
  const [parent] = above
  const to = parent === undefined ? null : [parent, ...above.slice(1)] as const
  const kind = parent === undefined ? 'withdraw' : 'transfer'
  await bookCredits(queries, {
    id: `account-closed:${account.id}`,
    kind,
    debit: account.id,
    credit: parent?.id ?? 'funding',
    amountNano,
    reason: `the account ${account.id} was closed`,
    at,
    actor
  }, movementsBetween(line, to, amountNano))
}

async function refuseWrongPlace (queries: Queries, id: string, above: AccountLine): Promise<void> {
  refuseClosed(above)
  if (idsOf(above).includes(id)) throw GatewayError.invalidValue('parent', 'an account cannot be below itself')
  await refuseTooDeep(queries, id, above)
}

async function refuseOpenBelow (queries: Queries, id: string): Promise<void> {
  const open = await queries.get<{ id: string }>(
    'select id from account where parent = $1 and closed_at is null order by id limit 1', [id])
  if (open === undefined) return
  throw accountBusy(id, 'account_has_children', `has open accounts below it, such as \`${open.id}\``)
}

function accountHolds ([{ id, heldNano }]: AccountLine) {
  return accountBusy(id, 'account_in_use', `holds ${heldNano} nano-USD for requests that still run; try again later`)
}
