import { usageDimensions } from '../../../schemas/admin/usage.ts'
import { periodAt } from '../../keys/periods.ts'
import type { Store } from '../../store/store.ts'
import { utcDayMs } from './usage-facts.ts'

/** Dimensions of usage; days, weeks and months are in UTC, weeks begin on Monday. */
export type UsageDimension = typeof usageDimensions[number] | `tag:${string}`

/** How to group rows of `usage_day`, under the name `used`, by a dimension. */
export interface Dimension {
  sql: string
  /** The value in reports. */
  toText (value: string | number): string
  /** The value in the type of `sql`. */
  example: string | number
}

const maxDimensions = 8
const tagPrefix = 'tag:'
const tagPattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** Parses dimensions such as `day,key,tag:x`; tags come last. Throws RangeError for unknown or too many. */
export function parseDimensions (text: string): UsageDimension[] {
  const names = new Set(text.split(',').map(name => name.trim()))
  if (names.size > maxDimensions) throw new RangeError(`expected at most ${maxDimensions} dimensions`)
  const known = usageDimensions.filter(dimension => names.delete(dimension))
  const tags = Array.from(names, (name): UsageDimension => {
    const tag = name.startsWith(tagPrefix) ? name.slice(tagPrefix.length) : ''
    if (isTagName(tag)) return `tag:${tag}`
    throw new RangeError(`expected one or more of ${usageDimensions.join(', ')}, tag:<name>, got '${name.slice(0, 80)}'`)
  })
  return [...known, ...tags]
}

/** Whether a tag can have this name. */
export function isTagName (name: string): boolean {
  return tagPattern.test(name)
}

/** The tag that a dimension groups by; null for other dimensions. */
export function tagOf (dimension: UsageDimension): string | null {
  return dimension.startsWith(tagPrefix) ? dimension.slice(tagPrefix.length) : null
}

/** Returns the value of a tag in SQL, empty for requests without it. Throws for an invalid name. */
export function tagValue (engine: Store['engine'], name: string): string {
  if (!isTagName(name)) throw new RangeError(`Not the name of a tag: ${name}`)
  return `coalesce(used.tags${engine === 'postgres' ? '::json' : ''} ->> '${name}', '')`
}

/** Returns how to group by a dimension on an engine. */
export function dimensionOf (engine: Store['engine'], name: UsageDimension): Dimension {
  const tag = tagOf(name)
  if (tag !== null) return ofText(tagValue(engine, tag))
  // The names of tags are covered above.
  return dimensions[engine][name as typeof usageDimensions[number]]
}

const ofText = (sql: string): Dimension => ({ sql, toText: String, example: '' })

const common = {
  account: ofText('used.account'),
  key: ofText('used.api_key'),
  label: ofText("coalesce(key_of_usage.label, '')"),
  model: ofText('used.model'),
  provider: ofText('used.provider'),
  day: { sql: 'used.day', example: 0, toText: (day: string | number) => periodAt('day', Number(day) * utcDayMs).name },
  week: {
    // Day 0 of 1970 was a Thursday.
    sql: '(used.day - (used.day + 3) % 7)',
    example: 0,
    toText: (day: string | number) => periodAt('week', Number(day) * utcDayMs).name
  },
  estimated: { sql: 'used.estimated', example: 0, toText: (value: string | number) => String(value === 1) }
} satisfies Partial<Record<UsageDimension, Dimension>>

const dimensions: Record<Store['engine'], Record<typeof usageDimensions[number], Dimension>> = {
  sqlite: { ...common, month: ofText("strftime('%Y-%m', used.day * 86400, 'unixepoch')") },
  postgres: { ...common, month: ofText("to_char(date '1970-01-01' + used.day::integer, 'YYYY-MM')") }
}
