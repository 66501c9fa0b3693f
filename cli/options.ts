import { InvalidArgumentError, type Command } from 'commander'
import { isTagName } from '../services/operations/reports/dimensions.ts'
import { readIsoTime } from '../services/shared/iso-time.ts'
import { maxLimit } from '../services/shared/limits.ts'
import { nanoFromUsd } from '../services/shared/money.ts'
import { maxPageSize } from '../services/operations/admin/page.ts'
import { toDimensions } from '../services/operations/admin/usage.ts'

/** Adds `--json` to a command. */
export function withJson (command: Command): Command {
  return command.option('--json', 'print JSON in the format of the admin API')
}

/** Adds the options of a paged list. */
export function withPaging (command: Command): Command {
  return command
    .option('--limit <count>', `size of a page, 1 to ${maxPageSize}`, parseCount, maxPageSize)
    .option('--after <cursor>', 'continue after an earlier page, which printed this cursor')
}

/** Parses an amount in US dollars to integer nano-USD. */
export function parseAmount (text: string): number {
  return parsed(() => nanoFromUsd(text))
}

/** Parses an amount, or `all`. */
export function parseAmountOrAll (text: string): number | 'all' {
  return text === 'all' ? text : parseAmount(text)
}

/** Checks an ISO 8601 date or time. */
export function parseTime (text: string): string {
  parsed(() => readIsoTime(text))
  return text
}

/** Parses a duration such as `24h`, `30m`, `7d` or `0` to whole seconds. */
export function parseDuration (text: string): number {
  const [, count = '', unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  if (count === '') throw new InvalidArgumentError('Expected a duration such as 30m, 24h, 7d or 0.')
  return Number(count) * (unitSeconds[unit] ?? 1)
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** Checks the dimensions of a usage report, e.g. `key,day`. */
export function parseUsageDimensions (text: string): string {
  parsed(() => toDimensions(text))
  return text
}

/** Checks a status such as `429`, or a class of them such as `5xx`. */
export function parseStatus (text: string): string {
  if (/^[1-5]([0-9]{2}|xx)$/.test(text)) return text
  throw new InvalidArgumentError('Expected a status such as 429 or 5xx.')
}

/** Checks a tag and its value, e.g. `project=alpha`. */
export function parseTag (text: string): string {
  const [name = ''] = text.split('=')
  if (text.includes('=') && isTagName(name)) return text
  throw new InvalidArgumentError('Expected a tag such as project=alpha.')
}

/** Parses an integer. */
export function parseInteger (text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected an integer.')
}

/** Parses a limit on requests or tokens. */
export function parseLimit (text: string): number {
  return countUpTo(maxLimit, text)
}

/** Parses a comma-separated list and appends it to `before`, as an option may be repeated. */
export function parseList (text: string, before: readonly string[] = []): string[] {
  const values = text.split(',').map((value) => value.trim()).filter((value) => value !== '')
  return [...before, ...values]
}

function parseCount (text: string): number {
  return countUpTo(maxPageSize, text)
}

function countUpTo (most: number, text: string): number {
  const count = Number(text)
  if (/^\d{1,10}$/.test(text) && count >= 1 && count <= most) return count
  throw new InvalidArgumentError(`Expected an integer from 1 to ${most}.`)
}

function parsed<T> (read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidArgumentError(`${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`)
    throw error
  }
}
