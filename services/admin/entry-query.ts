import type { Entry } from '../../schemas/admin/entries.ts'
import { entriesOfPeriod } from '../ledger/sql/entry-blocks.ts'
import type { Store, Value } from '../store/store.ts'

/** Which entries to list, newest first. Times in milliseconds since 1970; `to` is exclusive. */
export interface EntrySelection {
  account: string | undefined
  /** Only entries that name the account, and not those of accounts below it. */
  isOwn: boolean
  kind: Entry['kind'] | undefined
  from: number | undefined
  to: number | undefined
  /** Continues after the entry with this number. */
  before: number | undefined
  limit: number
}

/** Returns the query of the `columns` of entries, and adds its parameters. */
export function entriesSql (
  engine: Store['engine'], columns: string, selection: EntrySelection, params: Value[]
): string {
  const { kind, from, to, before, limit } = selection
  const place = (value: Value) => `$${params.push(value)}`
  const hasPeriod = from !== undefined || to !== undefined
  // `entriesOfPeriod` expects the times as the first parameters.
  const times = hasPeriod ? [`at >= ${place(from ?? 0)}`, `at < ${place(to ?? Number.MAX_SAFE_INTEGER)}`] : []
  const common = [...times, `entry.seq < ${place(before ?? Number.MAX_SAFE_INTEGER)}`, ...kindConditions(kind, place)]
  const max = place(limit)
  const account = selection.account === undefined ? null : place(selection.account)
  const newest = (source: string, conditions: readonly string[]) => `
    select ${columns} from ${source} where ${conditions.join(' and ')} order by entry.seq desc limit ${max}`
  if (account === null) return newest(hasPeriod ? entriesOfPeriod(engine) : 'entry', common)
  if (hasPeriod) return newest(entriesOfPeriod(engine), [...common, conditionOf(account, selection.isOwn)])
  const parts = [
    ...(kind === 'usage' ? [] : namedBy(account, selection.isOwn))
      .map(({ source, condition }) => newest(source, [...common, condition])),
    ...(kind === undefined || kind === 'usage' || kind === 'refund'
      ? [newest(...ofChains(engine, account, { ...selection, common, max }))]
      : [])
  ]
  return `${parts.map(part => `select * from (${part}) as part`).join(' union all ')} order by seq desc limit ${max}`
}

/** As the indexes of operators' entries have it. */
const isNoUsage = "entry.kind <> 'usage'"

function kindConditions (kind: Entry['kind'] | undefined, place: (value: Value) => string): string[] {
  if (kind === undefined) return []
  return [`entry.kind = ${place(kind)}`, ...(kind === 'usage' ? [] : [isNoUsage])]
}

const movementOf = (account: string) => `select entry from movement where movement.account = ${account}`

function conditionOf (account: string, isOwn: boolean): string {
  const names = `entry.debit = ${account} or entry.credit = ${account}`
  return isOwn
    ? `(${names})`
    : `(${names} or entry.seq in (${movementOf(account)})
      or entry.kind in ('usage', 'refund') and entry.chain in (select id from chain where chain.account = ${account}))`
}

/** Operators' entries, in parts without a common one: each reads an index, newest first. */
function namedBy (account: string, isOwn: boolean): { source: string, condition: string }[] {
  const others = `entry.debit <> ${account} and ${isNoUsage}`
  return [
    { source: 'entry', condition: `entry.debit = ${account} and ${isNoUsage}` },
    { source: 'entry', condition: `entry.credit = ${account} and ${others}` },
    ...(isOwn
      ? []
      : [{
          source: 'movement join entry on entry.seq = movement.entry',
          condition: `movement.account = ${account} and entry.credit <> ${account} and ${others}`
        }])
  ]
}

/**
 * Usage, and refunds that are in no other part, by the chains of the account. On Postgres, which has an index
 * of chains, the newest of each; on SQLite, entries are read from the newest on.
 */
function ofChains (
  engine: Store['engine'],
  account: string,
  { isOwn, common, max }: { isOwn: boolean, common: readonly string[], max: string }
): [source: string, conditions: string[]] {
  const refund = `entry.kind = 'refund' and entry.debit <> ${account} and entry.credit <> ${account}
    and entry.seq not in (${movementOf(account)})`
  const kinds = isOwn ? `entry.kind = 'usage' and entry.debit = ${account}` : `(entry.kind = 'usage' or ${refund})`
  // A chain begins with the account that pays.
  const pays = `substr(chain.id || ' ', 1, length(${account}) + 1) = ${account} || ' '`
  const own = [`chain.account = ${account}`, ...(isOwn ? [pays] : [])]
  if (engine === 'sqlite') {
    return ['entry', [...common, kinds, `entry.chain in (select id from chain where ${own.join(' and ')})`]]
  }
  const conditions = [...common, 'entry.chain = chain.id', 'entry.chain is not null', kinds].join(' and ')
  const newest = `select entry.* from entry where ${conditions} order by entry.seq desc limit ${max}`
  return [`chain cross join lateral (${newest}) as entry`, own]
}
