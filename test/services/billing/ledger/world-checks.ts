import { checkLedger } from '../../../../services/billing/ledger/check/check-books.ts'
import type { Store } from '../../../../services/store/store.ts'
import type { Grant, Node, ScheduleResult, World } from './world.ts'

/** Checks what has to be true at any time. Faults go into the result. */
export async function checkAccounts (world: World, when: string): Promise<void> {
  const { store, accounts, result } = world
  const rows = await store.all<{ id: string, nano: number }>(
    'select id, credits - spent - held as nano from account where id in ($1, $2, $3)', accounts)
  for (const { id, nano } of rows) if (nano < 0) result.faults.push(`${when}: ${id} is overdrawn by ${-nano}`)
  await checkCover(world, when)
}

/**
 * What a node has granted from memory is never more than it holds; a node that was given up has no say in
 * it.
 */
async function checkCover ({ store, accounts, nodes, grants, result }: World, when: string): Promise<void> {
  const rows = await store.all<{ owner: string, account: string, nano: number, revoked: number }>(`
    select owner, account, sum(case state when 0 then amount else 0 end) as nano, max(state) as revoked from hold
    where kind = 'node' and account in ($1, $2, $3) group by owner, account`, accounts)
  for (const { owner, account, nano, revoked } of rows) {
    if (revoked !== 0 || !nodes.some(({ id }) => id === owner)) continue
    const open = grants.filter(({ node, chain, inMemory, ended }) =>
      node.id === owner && inMemory && !ended && chain.includes(account))
    const openNano = open.reduce((sum, { hold }) => sum + hold.amountNano, 0)
    if (openNano > nano) result.faults.push(`${when}: ${owner} holds ${nano} of ${account} for ${openNano}`)
  }
}

/**
 * Checks, when all is calm, that every request was charged once, or went to suspense, or died with its node.
 */
export async function checkEnd ({ store, accounts, grants, result }: World): Promise<void> {
  result.faults.push(...(await checkLedger(store)).map((violation) => JSON.stringify(violation)))
  const entries = await store.all<BookedEntry>(`
    select ref, amount, kind from entry where kind in ('usage', 'suspense')`)
  const byHold = Map.groupBy(entries, ({ ref }) => ref)
  const lost = new Map<Node, number>()
  for (const { hold, node, settledNano } of grants) {
    const booked = byHold.get(hold.id) ?? []
    const fault = faultIn(booked, hold.amountNano, settledNano)
    if (fault !== null) result.faults.push(`${hold.id} ${fault}`)
    const [entry] = booked
    const isLostFree = hold.amountNano === 0 && settledNano === 0 && entry?.kind !== 'usage' && node.alive
    if (isLostFree) result.faults.push(`${hold.id} was free and is in no book`)
    if (settledNano === null || settledNano === 0) continue
    if (entry?.kind === 'usage') result.booked++
    else if (entry?.kind === 'suspense') result.suspended++
    else lost.set(node, (lost.get(node) ?? 0) + Math.min(settledNano, hold.amountNano))
    if (entry === undefined && node.alive) result.faults.push(`${hold.id} was settled and is in no book`)
  }
  result.lost = [...lost.values()].reduce((sum, nano) => sum + nano, 0)
  for (const [node, nano] of lost) await checkLoss(store, node, nano, result)
  await checkNothingHeld(store, accounts, grants, result)
}

interface BookedEntry { ref: string, amount: number, kind: 'usage' | 'suspense' }

/** A hold has one entry, and a second one in suspense for what exceeds it; together they are what it cost. */
function faultIn (
  booked: readonly BookedEntry[], heldNano: number, settledNano: number | null
): string | null {
  if (booked.length === 0) return null
  if (settledNano === null) return 'was released and booked'
  if (new Set(booked.map(({ kind }) => kind)).size < booked.length) return 'was booked twice'
  const totalNano = booked.reduce((sum, { amount }) => sum + amount, 0)
  if (totalNano !== settledNano) return `cost ${settledNano} and was booked with ${totalNano}`
  const charged = booked.find(({ kind }) => kind === 'usage')
  if (charged === undefined) return null
  return charged.amount === Math.min(settledNano, heldNano) ? null : `was charged ${charged.amount} of ${heldNano}`
}

/** The dead take no more with them than was on hold for them. */
async function checkLoss (
  store: Store, { id }: Node, lostNano: number, { faults }: ScheduleResult
): Promise<void> {
  const row = await store.get<{ nano: number }>(`
    select cast(coalesce(sum(amount), 0) as bigint) as nano from hold
    where owner = $1 and state in (0, 3) and account like 'paying-%'`, [id])
  if (lostNano > (row?.nano ?? 0)) faults.push(`${id} took ${lostNano} with it, and had ${row?.nano} on hold`)
}

async function checkNothingHeld (
  store: Store, accounts: readonly string[], grants: readonly Grant[], result: ScheduleResult
): Promise<void> {
  const revoked = await store.get<{ count: number }>(
    "select count(*) as count from hold where kind = 'node' and state = 3 and account = $1", [accounts[0] ?? ''])
  result.releasedTerms = revoked?.count ?? 0
  // Durable holds wait for their expiry, or for the process that continues their work.
  const open = await store.all<{ id: string }>(
    "select distinct id from hold where state = 0 and kind <> 'job' and account in ($1, $2, $3)", accounts)
  const known = new Set(grants.filter(({ node }) => !node.alive).map(({ hold }) => hold.id))
  for (const { id } of open) if (!known.has(id)) result.faults.push(`${id} is still held`)
}
