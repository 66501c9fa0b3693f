import type { Store } from '../../../store/store.ts'
import type { Violation } from './rules.ts'
import { inSlice } from './rules.ts'

/** What an account, or a key's budget, has spent and was credited by some entries; integer nano-USD. */
export interface AccountSums { account: string, spentNano: number, creditsNano: number }

type Reader = Pick<Store, 'reports'>

/** Accounts that are compared by one statement. */
const pageSize = 1_000

/** Sums up a slice of the entries. */
export async function sumsOfSlice (
  { reports }: Reader, slice: readonly [number, number]
): Promise<AccountSums[]> {
  return await reports.all<AccountSums>(`
    ${summed(inSlice)} select account, "spentNano", "creditsNano" from summed`, slice)
}

/** Adds the sums of a slice to those of the slices before. */
export function addSums (sums: Map<string, AccountSums>, more: readonly AccountSums[]): void {
  for (const { account, spentNano, creditsNano } of more) {
    const sum = sums.get(account)
    if (sum === undefined) {
      sums.set(account, { account, spentNano, creditsNano })
    } else {
      sum.spentNano += spentNano
      sum.creditsNano += creditsNano
    }
  }
}

interface ComparedRow {
  id: string
  kind: 'account' | 'budget'
  creditsNano: number
  spentNano: number
  heldNano: number
  openNano: number
  /** By the entries after `until`. */
  laterSpentNano: number
  laterCreditsNano: number
}

/**
 * Compares all accounts with their open holds and their entries: `sums` up to the number `until`, and those
 * after it, which the statement that reads the account sums up, so that both are of one moment.
 */
export async function * accountViolations (
  { reports }: Reader, until: number, sums: ReadonlyMap<string, AccountSums>
): AsyncGenerator<Violation> {
  let after: string | undefined = ''
  while (after !== undefined) {
    const rows: ComparedRow[] = await reports.all<ComparedRow>(comparison, [until, after, pageSize])
    for (const row of rows) yield * violationsOf(row, sums.get(row.id))
    after = rows.length === pageSize ? rows.at(-1)?.id : undefined
  }
}

function * violationsOf (row: ComparedRow, sums: AccountSums | undefined): Generator<Violation> {
  const { id: subject, kind, creditsNano, spentNano, heldNano, openNano } = row
  const spentByEntries = (sums?.spentNano ?? 0) + row.laterSpentNano
  const creditsByEntries = (sums?.creditsNano ?? 0) + row.laterCreditsNano
  if (heldNano !== openNano) {
    yield { rule: 'held is the sum of open holds', subject, expected: openNano, found: heldNano }
  }
  if (spentNano !== spentByEntries) {
    yield { rule: 'spent is usage less refunds', subject, expected: spentByEntries, found: spentNano }
  }
  // A budget's credits are a limit without deposits, which may be lowered at will.
  if (kind === 'budget') return
  if (creditsNano !== creditsByEntries) {
    yield { rule: 'credits are the movements of entries', subject, expected: creditsByEntries, found: creditsNano }
  }
  const availableNano = creditsNano - spentNano - heldNano
  if (availableNano < 0) yield { rule: 'no account is overdrawn', subject, expected: 0, found: availableNano }
}

/** Returns the `with` clause of `summed`: what each account has spent and was credited by some entries. */
function summed (entries: string): string {
  return `
    with moved as materialized (
      select kind, chain, cast(sum(amount) as bigint) as nano from entry
      where ${entries} and kind in ('usage', 'refund') group by kind, chain
    ), change as (
      select chain.account, case moved.kind when 'usage' then nano else -nano end as spent, 0 as credits
      from moved join chain on chain.id = moved.chain
      union all select account, 0, amount from movement where ${entries.replaceAll('entry.seq', 'movement.entry')}
    ), summed as (
      select account, cast(sum(spent) as bigint) as "spentNano", cast(sum(credits) as bigint) as "creditsNano"
      from change group by account
    )`
}

const comparison = `
  ${summed('entry.seq > $1')}
  select account.id, account.kind, account.credits as "creditsNano", account.spent as "spentNano",
    account.held as "heldNano",
    (select cast(coalesce(sum(amount), 0) as bigint) from hold
      where hold.account = account.id and hold.state = 0) as "openNano",
    coalesce(summed."spentNano", 0) as "laterSpentNano", coalesce(summed."creditsNano", 0) as "laterCreditsNano"
  from account left join summed on summed.account = account.id
  where account.id > $2 order by account.id limit $3`
