import { Option, type Command } from 'commander'
import type { TSchema } from '@sinclair/typebox'
import type { FieldKind, FieldOption } from '../services/operations/admin/operation.ts'
import {
  parseAmount, parseDuration, parseInteger, parseLimit, parseList, parseStatus, parseTag, parseTime,
  parseUsageDimensions
} from './options.ts'

/** A field of a request that a command sets. */
export interface Field extends FieldOption {
  name: string
  schema: TSchema
}

/** The values of options, as Commander has read them; false removes a setting. */
type Values = Readonly<Record<string, unknown>>

const parsers: Record<Exclude<FieldKind, 'limits'>, (text: string) => unknown> = {
  amount: parseAmount,
  budget: parseAmount,
  dimensions: parseUsageDimensions,
  duration: parseDuration,
  list: parseList,
  status: parseStatus,
  tag: parseTag,
  time: parseTime
}

const limits = [
  ['requests_per_minute', 'rpm', 'requests per minute'],
  ['tokens_per_minute', 'tpm', 'prompt and completion tokens per minute'],
  ['concurrent_requests', 'concurrent', 'concurrent requests']
] as const

/** Adds the option of a field, or its options. */
export function addField (command: Command, { flag, words, as, schema, ...field }: Field): void {
  if (as === 'limits') {
    for (const [, name, counted] of limits) {
      command.option(`--${name} <count>`, `most ${counted}`, parseLimit)
    }
    return
  }
  const option = new Option(flag, words).makeOptionMandatory(field.required === true)
  if (as !== undefined) option.argParser(parsers[as])
  else if (flag.includes('<') && schema.enum !== undefined) option.choices(valuesOf(schema))
  else if ([schema.type].flat().includes('integer')) option.argParser(parseInteger)
  command.addOption(option.default(field.default))
  if (as !== 'budget') return
  const periods = valuesOf(schema.properties.period)
  command.addOption(new Option('--period <period>', field.period).choices(periods))
}

/** Adds the options that remove a setting; after all others, or Commander would set a default. */
export function addRemoval (command: Command, { flag, as, none }: Field): void {
  if (none === undefined) return
  if (as === 'limits') {
    for (const [, name, counted] of limits) command.option(`--no-${name}`, `remove the limit of ${counted}`)
  } else {
    command.option(`--no-${nameOf(flag)}`, none)
  }
}

/** Returns the value of a field for the admin API; undefined if its option is absent. */
export function readField (command: Command, { flag, as, schema }: Field): unknown {
  const values: Values = command.opts()
  if (as === 'limits') return readLimits(values)
  const value = values[new Option(flag).attributeName()]
  if (as === 'budget' && values['period'] !== undefined && typeof value !== 'number') {
    command.error(`--period requires --${nameOf(flag)}`)
  }
  if (value === undefined) return undefined
  if (value === false) return null
  if (as === 'budget') return { amount_nano: value, period: values['period'] ?? null }
  if (as === 'amount') return { amount_nano: value }
  return value === true && schema.type === 'string' ? 'true' : value
}

function readLimits (values: Values): object | undefined {
  const given = limits.map(([field, name]) => [field, values[name] === false ? null : values[name]])
    .filter(([, value]) => value !== undefined)
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

/** `--soft-budget <amount>` → `soft-budget`. */
function nameOf (flag: string): string {
  return new Option(flag).name()
}

function valuesOf (schema: TSchema): string[] {
  return (schema.enum ?? []).filter((value: unknown) => value !== null)
}
