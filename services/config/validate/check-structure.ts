import { Value, ValueErrorType } from '@sinclair/typebox/value'
import type { Static, TSchema } from '@sinclair/typebox'
import { AlertsBlock } from '../../../schemas/config/alerts.ts'
import { CatalogueBlock } from '../../../schemas/config/catalogue.ts'
import { ConsoleBlock } from '../../../schemas/config/console.ts'
import { GatewayFile, PolicyEntry } from '../../../schemas/config/config.ts'
import { ModelEntry } from '../../../schemas/config/models.ts'
import { PluginEntry, type PluginList } from '../../../schemas/config/plugins.ts'
import { ProviderEntry } from '../../../schemas/config/providers.ts'
import { BreakerEntry, RequestsEntry } from '../../../schemas/config/requests.ts'
import { UsageBlock } from '../../../schemas/config/usage.ts'
import { VideoBlock } from '../../../schemas/config/video.ts'
import { explainError } from './explain-error.ts'
import type { YamlDocument } from '../yaml/document.ts'
import type { Path } from '../yaml/path.ts'

export interface ConfigEntry<Item> { item: Item, path: Path }

export interface Entries<Item> {
  list: ConfigEntry<Item>[]
  /** Ids of entries that are too malformed to be in the list. */
  brokenIds: string[]
  /** False if there may be entries without a readable id. */
  complete: boolean
}

export interface CheckedFile {
  environmentProviders: boolean
  providers: Entries<ProviderEntry>
  models: Entries<ModelEntry>
  policies: Entries<PolicyEntry>
  plugins: PluginList
  aliases: Record<string, string>
  requests: Static<typeof RequestsEntry>
  breaker: Static<typeof BreakerEntry>
  video: Static<typeof VideoBlock>
  usage: Static<typeof UsageBlock>
  alerts: Static<typeof AlertsBlock>
  console: Static<typeof ConsoleBlock>
  catalogue: Static<typeof CatalogueBlock>
  unpriced: 'refuse' | 'family'
}

/** Most repairs of one entry: each removes the problems of one level, and entries have few levels. */
const maxRepairs = 8

/**
 * Reports values that do not match the schema and returns the rest, so that its references are checked in the
 * same run. Only substituted text may stand for a number or boolean.
 */
export function checkStructure (document: YamlDocument): CheckedFile {
  const file = readFile(document)
  explainPlugins(file, document)
  for (const error of Value.Errors(GatewayFile, file)) {
    const { path, message, at } = explainError(error, toPath(error.path, file), document)
    document.report(path, message, at)
  }
  return {
    environmentProviders: property(file, 'environment_providers') !== false,
    providers: entries('providers', ProviderEntry, file, document),
    models: entries('models', ModelEntry, file, document),
    policies: entries('policies', PolicyEntry, file, document),
    plugins: list('plugins', GatewayFile.properties.plugins, file),
    aliases: section('aliases', GatewayFile.properties.aliases, file),
    requests: section('requests', RequestsEntry, file),
    breaker: section('breaker', BreakerEntry, file),
    video: section('video', VideoBlock, file),
    usage: section('usage', UsageBlock, file),
    alerts: section('alerts', AlertsBlock, file),
    console: section('console', ConsoleBlock, file),
    catalogue: section('catalogue', CatalogueBlock, file),
    unpriced: property(file, 'unpriced') === 'family' ? 'family' : 'refuse'
  }
}

/** Reports what is wrong within the map of a plugin, before the schema reports that it is not a string. */
function explainPlugins (file: unknown, document: YamlDocument): void {
  const plugins: unknown = property(file, 'plugins')
  for (const [index, item] of Array.isArray(plugins) ? plugins.entries() : []) {
    if (!isObject(item)) continue
    for (const error of Value.Errors(PluginEntry, item)) {
      const { path, message, at } = explainError(error, ['plugins', index, ...toPath(error.path, item)], document)
      document.report(path, message, at)
    }
  }
}

function readFile (document: YamlDocument): unknown {
  const file = Value.Default(GatewayFile, plainFile(document))
  const converted = [...Value.Errors(GatewayFile, file)].filter(({ type, path }) => {
    if (type === ValueErrorType.Boolean) return document.convert(toPath(path, file), 'boolean')
    if (type !== ValueErrorType.Number && type !== ValueErrorType.Integer) return false
    return document.convert(toPath(path, file), 'number')
  })
  return converted.length === 0 ? file : Value.Default(GatewayFile, plainFile(document))
}

/** The file without lists that are too long: each is one problem, and checking all items would be slow. */
function plainFile (document: YamlDocument): unknown {
  const file = document.value() ?? {}
  for (const [name, { maxItems = Infinity }] of Object.entries<TSchema>(GatewayFile.properties)) {
    const items = property(file, name)
    if (!Array.isArray(items) || items.length <= maxItems || !isObject(file)) continue
    document.report([name], `must not have more than ${maxItems} items`)
    Reflect.set(file, name, null)
  }
  return file
}

function entries<Schema extends TSchema> (
  name: string, schema: Schema, file: unknown, document: YamlDocument
): Entries<Static<Schema>> {
  const items: unknown = property(file, name) ?? []
  if (!Array.isArray(items)) return { list: [], brokenIds: [], complete: false }
  const list: ConfigEntry<Static<Schema>>[] = []
  const broken: unknown[] = []
  for (const [index, item] of items.entries()) {
    const id = property(item, 'id')
    if (repair(schema, item)) list.push({ item, path: [name, index] })
    else broken.push(id)
  }
  const brokenIds = broken.filter((id) => typeof id === 'string')
  return { list, brokenIds, complete: document.sound && brokenIds.length === broken.length }
}

function section<Schema extends TSchema> (name: string, schema: Schema, file: unknown): Static<Schema> {
  const block = property(file, name)
  if (repair(schema, block)) return block
  const empty = {}
  if (repair(schema, empty)) return empty
  throw new TypeError(`The defaults of ${name} do not match its schema`)
}

/** A list that matches its schema; an empty one otherwise, as the problem is reported. */
function list<Schema extends TSchema> (name: string, schema: Schema, file: unknown): Static<Schema> | [] {
  const items = property(file, name)
  return Value.Check(schema, items) ? items : []
}

/** Removes values that do not match the schema; returns whether a valid entry is left. */
function repair<Schema extends TSchema> (schema: Schema, item: unknown): item is Static<Schema> {
  for (let round = 0; round < maxRepairs; round++) {
    if (Value.Check(schema, Value.Default(schema, item))) return true
    const pointers = new Set([...Value.Errors(schema, item)].map(({ path }) => path))
    const paths = [...pointers].map((pointer) => toPath(pointer, item))
    if (!paths.every((path) => remove(item, path))) return false
  }
  return false
}

/** Deletes the key at a path, or the closest key above it that is not a list item. */
function remove (root: unknown, path: Path): boolean {
  const parent = path.slice(0, -1).reduce<unknown>(property, root)
  const step = path.at(-1)
  if (step === undefined) return false
  if (parent === undefined) return true
  const has = isObject(parent) && !Array.isArray(parent) && Reflect.has(parent, step)
  return has ? Reflect.deleteProperty(parent, step) : remove(root, path.slice(0, -1))
}

function toPath (pointer: string, root: unknown): Path {
  let parent = root
  return pointer.split('/').slice(1).map((escaped) => {
    const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
    const step = Array.isArray(parent) ? Number(key) : key
    parent = property(parent, step)
    return step
  })
}

function property (value: unknown, step: string | number): unknown {
  return isObject(value) ? Reflect.get(value, step) : undefined
}

function isObject (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
