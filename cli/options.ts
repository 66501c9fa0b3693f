import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import type { UsageDimension } from '../services/reports/usage.ts'
import { readInstant } from '../services/shared/iso-time.ts'
import { nanoFromUsd } from '../services/shared/money.ts'
import { maxPageSize } from '../services/admin/page.ts'
import { toDimensions } from '../services/admin/usage.ts'

/** Adds `--json` to a command. */
export function withJson (command: Command): Command {
  return command.option('--json', 'print JSON, as the admin API answers it')
}

/** Adds the options of a list that is shown page by page. */
export function withPaging (command: Command): Command {
  return command
    .option('--limit <count>', `at most so many, up to ${maxPageSize}`, toCount, maxPageSize)
    .option('--after <cursor>', 'go on where another page ended')
}

/** Reads an amount in US dollars as integer nano-USD. */
export function toNano (text: string): number {
  return understood(() => nanoFromUsd(text))
}

/** Reads an ISO 8601 date or time as milliseconds since 1970. */
export function toInstant (text: string): number {
  return understood(() => readInstant(text))
}

/** Reads a length of time such as `24h`, `30m`, `7d` or `0` as whole seconds. */
export function toSeconds (text: string): number {
  const [, count = '', unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  if (count === '') throw new InvalidArgumentError('It is a length of time such as 30m, 24h, 7d or 0.')
  return Number(count) * (unitSeconds[unit] ?? 1)
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** Reads what usage shall be summed up by. */
export function toDimensionList (text: string): UsageDimension[] {
  return understood(() => toDimensions(text))
}

/** Collects the values of an option that is given several times or with commas. */
export function toList (text: string, before: readonly string[] = []): string[] {
  const values = text.split(',').map((value) => value.trim()).filter((value) => value !== '')
  return [...before, ...values]
}

function toCount (text: string): number {
  const count = Number(text)
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= maxPageSize) return count
  throw new InvalidArgumentError(`It is a number from 1 to ${maxPageSize}.`)
}

function understood<T> (read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidArgumentError(`${error.message}.`)
    throw error
  }
}
