import { InvalidArgumentError, type Command } from 'commander'
import { isTagName, type UsageDimension } from '../services/operations/reports/dimensions.ts'
import { readIsoTime } from '../services/shared/iso-time.ts'
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

/** Parses an ISO 8601 date or time to milliseconds since 1970. */
export function parseTime (text: string): number {
  return parsed(() => readIsoTime(text))
}

/** Parses a duration such as `24h`, `30m`, `7d` or `0` to whole seconds. */
export function parseDuration (text: string): number {
  const [, count = '', unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  if (count === '') throw new InvalidArgumentError('Expected a duration such as 30m, 24h, 7d or 0.')
  return Number(count) * (unitSeconds[unit] ?? 1)
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** Parses the dimensions of a usage report, e.g. `key,day`. */
export function parseUsageDimensions (text: string): UsageDimension[] {
  return parsed(() => toDimensions(text))
}

/** Parses a status such as `429`, or a class of them such as `5xx`. */
export function parseStatus (text: string): string {
  if (/^[1-5]([0-9]{2}|xx)$/.test(text)) return text
  throw new InvalidArgumentError('Expected a status such as 429 or 5xx.')
}

/** Parses a tag and its value, e.g. `project=alpha`. */
export function parseTag (text: string): { name: string, value: string } {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (!isTagName(name)) throw new InvalidArgumentError('Expected a tag such as project=alpha.')
  return { name, value }
}

/** Parses a comma-separated list and appends it to `before`, as an option may be repeated. */
export function parseList (text: string, before: readonly string[] = []): string[] {
  const values = text.split(',').map((value) => value.trim()).filter((value) => value !== '')
  return [...before, ...values]
}

function parseCount (text: string): number {
  const count = Number(text)
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= maxPageSize) return count
  throw new InvalidArgumentError(`Expected an integer from 1 to ${maxPageSize}.`)
}

function parsed<T> (read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidArgumentError(`${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`)
    throw error
  }
}
