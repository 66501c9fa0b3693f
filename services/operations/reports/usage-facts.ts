import type { Store } from '../../store/store.ts'

type Engine = Store['engine']

/** The key columns of `usage_day`. */
export const factKeys = ['day', 'account', 'chain', 'api_key', 'model', 'provider', 'estimated', 'tags'] as const

/** The summed columns of `usage_day`. */
export const factSums = [
  'requests', 'prompt', 'completion', 'cached', 'reasoning', 'images', 'milliseconds', 'amount', 'costed_requests', 'cost',
  'costed_amount', 'reported_requests', 'reported', 'expected', 'saved'
] as const
export type FactSum = typeof factSums[number]

/** Sums of charges, which may be negative; all others come from numbers of providers. */
const signedSums: readonly FactSum[] = ['amount', 'costed_amount']

const max = Number.MAX_SAFE_INTEGER
export const utcDayMs = 86_400_000

/**
 * Returns a query of the usage and refunds among `entries`, a `from` clause, that meet a condition: a row per
 * entry with the columns of `usage_day`. A refund belongs to the provider and the tags of its usage.
 */
export function factsOf (engine: Engine, entries: string, condition: string): string {
  return `
    select ${keysOfEntry}, ${dialects[engine].columns}
    from ${entries} ${withOrigin} ${dialects[engine].join}
    where ${isPosted} and (${condition})`
}

/**
 * Returns a query of the same usage and refunds on SQLite, grouped by all keys but the tags, with the list
 * `entries`, in JSON, of what `sumFacts` takes.
 */
export function groupsOf (condition: string): string {
  const posted = [isRequest, signedAmount, "coalesce(entry.usage, 'null')", "coalesce(origin.usage, 'null')"]
  return `
    select ${keysOfEntry}, '[' || group_concat('[' || ${posted.join(" || ',' || ")} || ']') || ']' as entries
    from entry ${withOrigin} where ${isPosted} and (${condition})
    group by 1, 2, 3, 4, 5, 6, 7`
}

const keysOfEntry = `
  entry.at / ${utcDayMs} as day, case entry.kind when 'usage' then entry.debit else entry.credit end as account,
  coalesce(entry.chain, '') as chain, coalesce(entry.api_key, '') as api_key, coalesce(entry.model, '') as model,
  coalesce(origin.provider, entry.provider, '') as provider,
  coalesce(origin.estimated, entry.estimated) as estimated`
const withOrigin = 'left join entry as origin on origin.seq = entry.reverses'
const isPosted = "entry.kind in ('usage', 'refund')"

/** Returns the sum of a column over rows of facts or of `usage_day`, never beyond the safe integers. */
export function sumOf (engine: Engine, column: FactSum): string {
  if (signedSums.includes(column)) return `cast(coalesce(sum(${column}), 0) as bigint)`
  return dialects[engine].boundedSum(column)
}

/** Returns the sum of an old and a new value of a column of `usage_day`. */
export function increased (engine: Engine, column: FactSum): string {
  const sum = `usage_day.${column} + excluded.${column}`
  const { least, greatest } = dialects[engine]
  return signedSums.includes(column) ? sum : `${greatest}(-${max}, ${least}(${sum}, ${max}))`
}

const isUsage = "entry.kind = 'usage'"
/** The later clearing of a cost above the hold is not another request. */
const isRequest =
  `case when ${isUsage} and (entry.reverses is null or entry.usage is not null) then 1 else 0 end`
const signedAmount = `case when ${isUsage} then entry.amount else -entry.amount end`

interface Dialect {
  /** Expressions for the numbers of `entry.usage`, and of refunded usage. */
  columns: string
  join: string
  least: string
  greatest: string
  boundedSum (column: string): string
}

const dialects: Record<Engine, Dialect> = {
  sqlite: {
    columns: columnsFrom({
      number: name => `(entry.usage ->> '${name}')`,
      count: (value, least) => `max(${least}, min(coalesce(cast(${value} as integer), 0), ${max}))`,
      isCosted: "coalesce(coalesce(origin.usage, entry.usage) ->> 'cost', coalesce(origin.usage, entry.usage) ->> 'reported')",
      tags: "coalesce(coalesce(origin.usage, entry.usage) ->> 'tags', '{}')"
    }),
    join: '',
    least: 'min',
    greatest: 'max',
    // Unlike `sum`, `total` does not fail beyond 64 bits.
    boundedSum: column => `cast(max(-${max}.0, min(total(${column}), ${max}.0)) as integer)`
  },
  postgres: {
    columns: columnsFrom({
      number: name => `case when entry.usage is not null then used."${name}" end`,
      count: (value, least) => `cast(greatest(${least}, least(trunc(coalesce(${value}, 0)), ${max})) as bigint)`,
      isCosted: 'coalesce(used.cost, used.reported)',
      tags: "coalesce(used.tags, '{}')"
    }),
    join: `
      cross join lateral json_to_record(coalesce(origin.usage, entry.usage, '{}')::json) as used (
        prompt numeric, completion numeric, "cachedRead" numeric, reasoning numeric, images numeric, seconds numeric,
        cost numeric, reported numeric, saved numeric, "excessNano" numeric, tags text)`,
    least: 'least',
    greatest: 'greatest',
    boundedSum: column => `cast(greatest(-${max}, least(coalesce(sum(${column}), 0), ${max})) as bigint)`
  }
}

interface Reading {
  /** The number of that name in the usage; null for a refund. */
  number (name: string): string
  /** A number as a safe integer of at least `least`, 0 for null. */
  count (value: string, least: number): string
  isCosted: string
  tags: string
}

function columnsFrom ({ number, count: bounded, isCosted, tags }: Reading): string {
  const count = (value: string) => bounded(value, 0)
  const cost = `coalesce(${number('cost')}, ${number('reported')})`
  const flag = (value: string) => `case when ${value} is null then 0 else 1 end`
  const expected = `coalesce(${number('cost')}, entry.amount + coalesce(${number('excessNano')}, 0))`
  const columns: Record<FactSum | 'tags', string> = {
    tags,
    requests: isRequest,
    prompt: count(number('prompt')),
    completion: count(number('completion')),
    cached: count(number('cachedRead')),
    reasoning: count(number('reasoning')),
    images: count(number('images')),
    milliseconds: count(`round(${number('seconds')} * 1000)`),
    amount: signedAmount,
    costed_requests: flag(cost),
    cost: count(cost),
    costed_amount: `case when ${isCosted} is null then 0 else ${signedAmount} end`,
    reported_requests: flag(number('reported')),
    reported: count(number('reported')),
    expected: `case when ${number('reported')} is null then 0 else ${count(expected)} end`,
    saved: bounded(number('saved'), -max)
  }
  return Object.entries(columns).map(([name, value]) => `${value} as ${name}`).join(', ')
}
