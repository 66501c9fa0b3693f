import { Argument, type Command } from 'commander'
import { Type, type TSchema } from '@sinclair/typebox'
import { toTable } from '../services/operations/admin/format/table.ts'
import type { AdminOperation, CommandOf, Given, TextContext } from '../services/operations/admin/operation.ts'
import type { Page } from '../services/operations/admin/page.ts'
import { isObject, type JsonObject } from '../services/shared/json.ts'
import { addField, addRemoval, readField, type Field } from './fields.ts'
import { parseAmount, parseAmountOrAll, withJson, withPaging } from './options.ts'
import type { Session } from './session.ts'

/** Adds the commands of operations below `program`; the groups of their words must be there. */
export function addOperations (
  program: Command, session: Session, operations: readonly AdminOperation[]
): void {
  for (const operation of operations) {
    if (operation.command !== undefined) addCommand(program, session, { operation, ...operation.command })
  }
}

type Described = CommandOf<JsonObject, unknown> & { operation: AdminOperation }

function addCommand (
  program: Command, session: Session, { operation, args: words = {}, ...described }: Described
): void {
  const { name, description, isDefault = false, columns } = described
  const [, path = '', rest = ''] = /^([a-z -]+?)((?: [<[].*)?)$/.exec(name) ?? []
  const groups = path.split(' ')
  const last = groups.pop() ?? ''
  const below = (above: Command, word: string) => above.commands.find(child => child.name() === word) ?? above
  const parent = groups.reduce(below, program)
  const command = parent.command(last, { isDefault }).description(description)
  const args = rest.match(/\w+/g) ?? []
  for (const text of rest.match(/\S+/g) ?? []) {
    command.addArgument(argumentOf(operation, text, words[text.slice(1, -1)]))
  }
  withJson(command)
  if (columns !== undefined && 'after' in propertiesOf(operation)) withPaging(command)
  const fields = fieldsOf(operation, args)
  for (const field of fields) addField(command, field)
  if (operation.method === 'PATCH') for (const field of fields) addRemoval(command, field)
  if (operation.csv !== undefined) {
    command.addOption(command.createOption('--csv', 'print all rows as CSV').conflicts(['json', 'limit', 'after']))
  }
  command.action(async () => await runOperation(session, operation, command, { args, fields }))
}

/** The fields that a command sets: of the body, or the query string. */
function propertiesOf ({ body, query }: AdminOperation): Record<string, TSchema> {
  return body?.properties ?? query?.properties ?? {}
}

function argumentOf ({ body }: AdminOperation, text: string, words: string | undefined): Argument {
  const argument = new Argument(text, words)
  if (!/\bamount\b/.test(text)) return argument
  return argument.argParser(body?.properties.amount === undefined ? parseAmount : parseAmountOrAll)
}

/** The fields with options: those that the operation describes, then those that their schemas describe. */
function fieldsOf (operation: AdminOperation, args: readonly string[]): Field[] {
  const properties = propertiesOf(operation)
  const options = operation.command?.options ?? {}
  const described = Object.entries(options)
    .map(([name, option]): Field => ({ ...option, name, schema: properties[name] ?? Type.Any() }))
  const others = Object.entries(properties).filter(([name]) => !(name in options) && !args.includes(name))
  return [...described, ...others.flatMap(([name, schema]) => describedField(name, schema))]
}

const plainTypes = new Set(['string', 'integer', 'boolean'])

/** The option of a field whose schema has a plain type and a description. */
function describedField (name: string, schema: TSchema): Field[] {
  const types = [schema.type].flat()
  const isPlain = plainTypes.has(types.filter(type => type !== 'null').join())
  if (!isPlain || schema.description === undefined) return []
  const words = schema.description.replace(/^[A-Z](?=[a-z ])/, letter => letter.toLowerCase()).replace(/\.$/, '')
  const flag = `--${name.replaceAll('_', '-')}${schema.type === 'boolean' ? '' : ` <${name}>`}`
  return [{ name, schema, flag, words, ...types.includes('null') && { none: `remove its ${name.replaceAll('_', ' ')}` } }]
}

/** The arguments and fields that a command reads. */
interface Inputs { args: readonly string[], fields: readonly Field[] }

async function runOperation (
  session: Session, operation: AdminOperation, command: Command, inputs: Inputs
): Promise<void> {
  const { json, csv = false, limit, after } = command.opts()
  const given = givenTo(operation, command, inputs)
  if (csv) {
    return await session.administer(async administration => {
      if (operation.csv !== undefined) await session.stream(operation.csv.rows(administration, given.query))
    })
  }
  const page = limit === undefined ? {} : { limit: String(limit), after }
  const paged = { ...given, query: { ...given.query, ...page } }
  const { result, text } = await session.administer(async administration => {
    const { made, created } = operation.make === undefined
      ? { made: await operation.run?.(administration, paged), created: true }
      : await operation.make(administration, paged)
    const context = { administration, id: given.id, created }
    return { result: made, text: json === true ? '' : await textOf(operation, given.query, made, context) }
  })
  session.print({ json }, result, () => text)
  if (json !== true && limit !== undefined && isPage(result) && result.next !== null) {
    session.warn(`there are more items; continue with --after ${result.next}`)
  }
  if (operation.command?.isFailure?.(result) === true) session.fail()
}

/** The request that arguments and options make. */
function givenTo (
  operation: AdminOperation, command: Command, { args, fields }: Inputs
): Given<JsonObject, unknown> {
  const hasId = operation.path.includes(':id')
  const values: unknown[] = command.processedArgs
  const set: JsonObject = Object.fromEntries([
    ...args.map((name, index): [string, unknown] => argumentField(name, values[index])).slice(hasId ? 1 : 0),
    ...fields.map((field): [string, unknown] => [field.name, readField(command, field)])
  ].filter(([, value]) => value !== undefined))
  const id = hasId ? String(values[0]) : ''
  return operation.body === undefined ? { id, query: set, body: {} } : { id, query: {}, body: set }
}

/** An amount is in nano-USD, or `all`. */
function argumentField (name: string, value: unknown): [string, unknown] {
  return [name === 'amount' && typeof value === 'number' ? 'amount_nano' : name, value]
}

async function textOf (
  { command }: AdminOperation, query: JsonObject, result: unknown, context: TextContext
): Promise<string> {
  if (command?.columns === undefined || !isPage(result)) return await command?.text?.(result, context) ?? ''
  return toTable(command.columns(query, context.administration.store.clock()), result.data)
}

function isPage (result: unknown): result is Page<never> {
  return isObject(result) && result['object'] === 'list'
}
