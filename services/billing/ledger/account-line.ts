import { isDeepStrictEqual } from 'node:util'
import { GatewayError } from '../../shared/errors.ts'
import type { Queries } from '../../store/store.ts'
import { closedAccount, unknownAccount } from './errors.ts'
import type { Statements } from './sql/statements.ts'

/** An account with its figures in integer nano-USD, which are those of all accounts below it as well. */
export interface LineAccount {
  id: string
  parent: string | null
  creditsNano: number
  spentNano: number
  heldNano: number
  frozenAt: number | null
  closedAt: number | null
}

/** An account and its parents, the nearest first. */
export type AccountLine = readonly [LineAccount, ...LineAccount[]]

/** The most accounts a request is charged to: the paying one and its parents. */
export const maxAccountDepth = 5

/** Returns an account and its parents. Throws GatewayError 404. */
export async function readLine (queries: Queries, id: string): Promise<AccountLine> {
  const [first, ...parents] = await queries.all<LineAccount>(`
    with recursive line (id, parent, depth) as (
      select id, parent, 1 from account where id = $1 and kind = 'account'
      union all
      select account.id, account.parent, depth + 1 from line join account on account.id = line.parent where depth < $2
    )
    select account.id, account.parent, credits as "creditsNano", spent as "spentNano", held as "heldNano",
      frozen_at as "frozenAt", closed_at as "closedAt"
    from line join account on account.id = line.id order by depth`, [id, maxAccountDepth])
  if (first === undefined) throw unknownAccount(id)
  return [first, ...parents]
}

/**
 * Locks accounts with all their parents until the caller's transaction ends, and returns their lines. A
 * locked account has no new parent and its money does not change. `others` are locked as well, in one order.
 * Throws GatewayError 404.
 */
export async function lockLines<const Ids extends readonly string[]> (
  statements: Pick<Statements, 'lockAccounts'>, queries: Queries, ids: Ids, others?: readonly string[]
): Promise<{ [Index in keyof Ids]: AccountLine }>
export async function lockLines (
  statements: Pick<Statements, 'lockAccounts'>, queries: Queries, ids: readonly string[],
  others: readonly string[] = []
): Promise<AccountLine[]> {
  for (;;) {
    const before = await readLines(queries, ids)
    await statements.lockAccounts(queries, new Set([...before.flatMap(idsOf), ...others]))
    const lines = await readLines(queries, ids)
    // An account may have moved to another parent before it was locked.
    if (isDeepStrictEqual(lines.map(idsOf), before.map(idsOf))) return lines
  }
}

/** Returns the ids of a line. */
export function idsOf (line: AccountLine): string[] {
  return line.map(({ id }) => id)
}

/** Throws GatewayError 409 for an account that was closed. */
export function refuseClosed ([{ id, closedAt }]: AccountLine): void {
  if (closedAt !== null) throw closedAccount(id)
}

/**
 * Returns the unallocated, unheld balance of a locked account, in nano-USD.
 */
export async function ownFreeNano (queries: Queries, [account]: AccountLine): Promise<number> {
  const balanceNano = account.creditsNano - account.spentNano
  const below = await queries.get<{ nano: number }>(
    'select cast(coalesce(sum(credits - spent), 0) as bigint) as nano from account where parent = $1', [account.id])
  return Math.min(balanceNano - (below?.nano ?? 0), balanceNano - account.heldNano)
}

/** Throws GatewayError 400, which names the field, for a parent that does not exist. */
export async function refuseUnknownParent (queries: Queries, parent: string): Promise<void> {
  const found = await queries.get("select 1 as found from account where id = $1 and kind = 'account'", [parent])
  if (found !== undefined) return
  throw GatewayError.invalidRequest(`The account \`${parent.slice(0, 128)}\` does not exist.`, { param: 'parent' })
}

/**
 * Refuses to put an account, and those below it, where there would be too many parents. Throws GatewayError
 * 400, which names the field.
 */
export async function refuseTooDeep (queries: Queries, id: string, above: AccountLine): Promise<void> {
  const height = await queries.get<{ depth: number | null }>(`
    with recursive below (id, depth) as (
      select id, 1 from account where id = $1
      union all
      select account.id, depth + 1 from below join account on account.parent = below.id where depth < $2
    )
    select max(depth) as depth from below`, [id, maxAccountDepth])
  if (above.length + (height?.depth ?? 1) <= maxAccountDepth) return
  throw GatewayError.invalidRequest(`An account may have at most ${maxAccountDepth - 1} parents in a row.`,
    { param: 'parent' })
}

async function readLines (queries: Queries, ids: readonly string[]): Promise<AccountLine[]> {
  const lines: AccountLine[] = []
  for (const id of ids) lines.push(await readLine(queries, id))
  return lines
}
