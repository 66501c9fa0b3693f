import type { Entry } from '../../../schemas/admin/entries.ts'
import { entriesOfPeriod } from '../../billing/ledger/sql/entry-blocks.ts'
import type { Store, Value } from '../../store/store.ts'

/** Which entries to list, newest first. Times in milliseconds since 1970; `to` is exclusive. */
export interface EntrySelection {
  account: string | undefined
  /** Only entries of the account itself, without accounts below it. */
  isOwn: boolean
  kind: Entry['kind'] | undefined
  from: number | undefined
  to: number | undefined
  /** Continues after the entry with this number. */
  before: number | undefined
  limit: number
}

/** Where entries are read, and under which conditions. */
interface Part { source: string, conditions: readonly string[] }

/** Returns the query of the `columns` of entries and their `movedNano`, and adds its parameters. */
export function entriesSql (
  engine: Store['engine'], columns: string, selection: EntrySelection, params: Value[]
): string {
  const { kind, before, limit, isOwn } = selection
  const place = (value: Value) => `$${params.push(value)}`
  const { source, conditions } = periodOf(engine, selection, place)
  const all = [`entry.seq < ${place(before ?? Number.MAX_SAFE_INTEGER)}`, ...kindConditions(kind, place), ...conditions]
  const max = place(limit)
  const account = selection.account === undefined ? null : place(selection.account)
  const parts = account === null
    ? [{ source, conditions: all }]
    : partsOf(engine, account, { isOwn, kind, source, all, max })
  const moved = account === null ? 'cast(null as bigint)' : `(${movedBy(account)})`
  const queries = parts.map(({ source, conditions }) => `
    select ${columns}, ${moved} as "movedNano" from ${source}
    where ${conditions.join(' and ')} order by entry.seq desc limit ${max}`)
  if (queries.length === 1) return queries.join()
  return `${queries.map(part => `select * from (${part}) as part`).join(' union all ')} order by seq desc limit ${max}`
}

/** Returns where the entries that count for an account are read. */
function partsOf (
  engine: Store['engine'], account: string, { kind, ...options }: ChargesOptions & Pick<EntrySelection, 'kind'>
): Part[] {
  const { isOwn, all } = options
  const named = kind === 'usage' ? [] : namedBy(account, isOwn)
  const parts = named.map(part => ({ ...part, conditions: [...all, ...part.conditions] }))
  const hasCharges = kind === undefined || kind === 'usage' || kind === 'refund'
  return hasCharges ? [...parts, chargesOf(engine, account, options)] : parts
}

/** By how much an operator's entry changed the credits of an account. */
const movedBy = (account: string) => `
  select movement.amount from movement where movement.entry = entry.seq and movement.account = ${account}`

/** Returns where the entries of a time are read. */
function periodOf (
  engine: Store['engine'], { from, to }: EntrySelection, place: (value: Value) => string
): Part {
  if (from === undefined && to === undefined) return { source: 'entry', conditions: [] }
  const [first, beyond] = [place(from ?? 0), place(to ?? Number.MAX_SAFE_INTEGER)]
  return { source: entriesOfPeriod(engine, first, beyond), conditions: [`at >= ${first}`, `at < ${beyond}`] }
}

/** Equal to the expression of the indexes of operators' entries. */
const isNoUsage = "entry.kind <> 'usage'"

function kindConditions (kind: Entry['kind'] | undefined, place: (value: Value) => string): string[] {
  if (kind === undefined) return []
  return [`entry.kind = ${place(kind)}`, ...(kind === 'usage' ? [] : [isNoUsage])]
}

const movementOf = (account: string) => `select entry from movement where movement.account = ${account}`

/** Operators' entries, in disjoint parts: each reads an index, newest first. */
function namedBy (account: string, isOwn: boolean): Part[] {
  const others = [`entry.debit <> ${account}`, isNoUsage]
  return [
    { source: 'entry', conditions: [`entry.debit = ${account}`, isNoUsage] },
    { source: 'entry', conditions: [`entry.credit = ${account}`, ...others] },
    ...(isOwn
      ? []
      : [{
          source: 'movement join entry on entry.seq = movement.entry',
          conditions: [`movement.account = ${account}`, `entry.credit <> ${account}`, ...others]
        }])
  ]
}

interface ChargesOptions {
  isOwn: boolean
  /** Entries of a period; `entry` for all. */
  source: string
  all: readonly string[]
  max: string
}

/**
 * Usage, and refunds that are in no other part, by the chains of the account. Postgres reads the newest of
 * each chain by an index; SQLite, and any query of a period, reads entries from the newest on.
 */
function chargesOf (
  engine: Store['engine'], account: string, { isOwn, source, all, max }: ChargesOptions
): Part {
  const refund = `entry.kind = 'refund' and entry.debit <> ${account} and entry.credit <> ${account}
    and entry.seq not in (${movementOf(account)})`
  const kinds = isOwn ? `entry.kind = 'usage' and entry.debit = ${account}` : `(entry.kind = 'usage' or ${refund})`
  // A chain begins with the account that pays.
  const pays = `substr(chain.id || ' ', 1, length(${account}) + 1) = ${account} || ' '`
  const own = [`chain.account = ${account}`, ...(isOwn ? [pays] : [])]
  if (engine === 'sqlite' || source !== 'entry') {
    const ofChains = `entry.chain in (select id from chain where ${own.join(' and ')})`
    return { source, conditions: [...all, kinds, ofChains] }
  }
  const conditions = [...all, 'entry.chain = chain.id', 'entry.chain is not null', kinds].join(' and ')
  const newest = `select entry.* from entry where ${conditions} order by entry.seq desc limit ${max}`
  return { source: `chain cross join lateral (${newest}) as entry`, conditions: own }
}
