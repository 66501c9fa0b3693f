import { Value, ValueErrorType } from '@sinclair/typebox/value'
import type { Static, TSchema } from '@sinclair/typebox'
import { BreakerEntry, RequestsEntry } from '../../../schemas/config/requests.ts'
import { VideoBlock } from '../../../schemas/config/video.ts'
import { GatewayFile, ModelEntry, PolicyEntry, ProviderEntry } from '../../../schemas/config/config.ts'
import { explainError } from './explain-error.ts'
import type { YamlDocument } from '../yaml/document.ts'
import type { Path } from '../yaml/path.ts'

/** An entry that fits its schema, and where it stands. */
export interface Entry<Item> { item: Item, path: Path }

/** One of the file's lists. */
export interface Entries<Item> {
  list: Entry<Item>[]
  /** Ids of entries that are too wrong to be in the list. */
  brokenIds: string[]
  /** False when there may be entries whose ids are not known. */
  complete: boolean
}

/** The file as far as it can be used. */
export interface CheckedFile {
  environmentProviders: boolean
  providers: Entries<ProviderEntry>
  models: Entries<ModelEntry>
  policies: Entries<PolicyEntry>
  requests: RequestsEntry
  breaker: BreakerEntry
  video: VideoBlock
}

/** Most passes over one entry: each takes out what is wrong at one level, and entries have few levels. */
const maxRepairs = 8

/**
 * Reports everything in the document that does not fit the schema, and returns what remains without it, so
 * that references are checked in the same run. A number or switch may come from the environment.
 */
export function checkStructure (document: YamlDocument): CheckedFile {
  const file = readFile(document)
  for (const error of Value.Errors(GatewayFile, file)) {
    const { path, message, at } = explainError(error, toPath(error.path, file), document)
    document.report(path, message, at)
  }
  return {
    environmentProviders: property(file, 'environment_providers') !== false,
    providers: entries('providers', ProviderEntry, file, document),
    models: entries('models', ModelEntry, file, document),
    policies: entries('policies', PolicyEntry, file, document),
    requests: section('requests', RequestsEntry, file, {}),
    breaker: section('breaker', BreakerEntry, file, {}),
    video: section('video', VideoBlock, file, {})
  }
}

function readFile (document: YamlDocument): unknown {
  const file = document.value() ?? {}
  const converted = [...Value.Errors(GatewayFile, file)].filter(({ type, path }) => {
    if (type === ValueErrorType.Boolean) return document.convert(toPath(path, file), 'boolean')
    if (type !== ValueErrorType.Number && type !== ValueErrorType.Integer) return false
    return document.convert(toPath(path, file), 'number')
  })
  return converted.length === 0 ? file : document.value() ?? {}
}

function entries<Schema extends TSchema> (
  name: string, schema: Schema, file: unknown, document: YamlDocument
): Entries<Static<Schema>> {
  const items: unknown = property(file, name) ?? []
  if (!Array.isArray(items)) return { list: [], brokenIds: [], complete: false }
  const list: Entry<Static<Schema>>[] = []
  const broken: unknown[] = []
  for (const [index, item] of items.entries()) {
    const id = property(item, 'id')
    if (repair(schema, item)) list.push({ item, path: [name, index] })
    else broken.push(id)
  }
  const brokenIds = broken.filter((id) => typeof id === 'string')
  return { list, brokenIds, complete: document.sound && brokenIds.length === broken.length }
}

/** A part of the file that stands there once, without what does not fit. */
function section<Schema extends TSchema> (
  name: string, schema: Schema, file: unknown, otherwise: Static<Schema>
): Static<Schema> {
  const item = property(file, name)
  return item !== undefined && repair(schema, item) ? item : otherwise
}

/** Takes out of an entry what does not fit; returns whether that leaves a whole entry. */
function repair<Schema extends TSchema> (schema: Schema, item: unknown): item is Static<Schema> {
  for (let round = 0; round < maxRepairs; round++) {
    if (Value.Check(schema, item)) return true
    const pointers = new Set([...Value.Errors(schema, item)].map(({ path }) => path))
    const paths = [...pointers].map((pointer) => toPath(pointer, item))
    if (!paths.every((path) => takeOut(item, path))) return false
  }
  return false
}

/** Deletes the key at a path, or the nearest above that is no list item; returns whether there is one. */
function takeOut (root: unknown, path: Path): boolean {
  const parent = path.slice(0, -1).reduce<unknown>(property, root)
  const step = path.at(-1)
  if (step === undefined) return false
  if (parent === undefined) return true
  const has = isObject(parent) && !Array.isArray(parent) && Reflect.has(parent, step)
  return has ? Reflect.deleteProperty(parent, step) : takeOut(root, path.slice(0, -1))
}

/** Turns a JSON pointer into the steps from the root. */
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
