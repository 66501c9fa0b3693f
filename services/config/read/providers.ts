import { ProviderEntry } from '../../../schemas/config/providers.ts'
import type { ScriptFile } from '../../../schemas/config/script.ts'
import type { ProviderConfig } from '../catalogue/types.ts'
import { knownProviders, protocolNames, type Protocol } from '../../../schemas/config/known-providers.ts'
import { pricedFieldsOf } from '../catalogue/priced-fields.ts'
import { readBaseUrl } from '../read-url.ts'
import { sandboxProvider } from '../sandbox.ts'
import type { CheckedFile, ConfigEntry } from '../validate/check-structure.ts'
import { readScript } from './script.ts'
import { suggest } from '../validate/suggest.ts'
import type { YamlDocument } from '../yaml/document.ts'
import { checkAws } from './aws.ts'
import { readAzure } from './azure.ts'
import { toParsed } from './to-parsed.ts'
import { isVertex, readVertex, vertexUrl } from './vertex.ts'

/**
 * Returns the file's providers in its order. Reports duplicate ids, missing or meaningless keys, and without
 * plugins the protocols that only one could bring.
 */
export function readProviders (
  { providers }: CheckedFile, document: YamlDocument, hasPlugins: boolean
): ProviderConfig[] {
  const ids = new Set<string>()
  return providers.list.map((entry) => {
    const { item, path } = entry
    if (ids.has(item.id)) document.report([...path, 'id'], 'is the id of an earlier provider')
    ids.add(item.id)
    if (!hasPlugins) checkProtocol(entry, document)
    const read = item.protocol === 'sandbox' ? readSandbox : readHosted
    const provider = read(entry, document)
    return { ...provider, script: scriptOf(entry, document) }
  })
}

const hostedKeys = [
  'dialect', 'base_url', 'api_key', 'headers', 'responses', 'on_disconnect', 'discover', 'project', 'credentials', 'bucket',
  'aws', 'entra', 'api_version'
] as const

function scriptOf ({ item, path }: ConfigEntry<ProviderEntry>, document: YamlDocument): ScriptFile | null {
  if (item.script === undefined) return null
  try {
    return readScript(item.script)
  } catch (error) {
    document.report([...path, 'script'], error instanceof Error ? error.message : String(error))
    return null
  }
}

function readSandbox ({ item, path }: ConfigEntry<ProviderEntry>, document: YamlDocument): ProviderConfig {
  for (const key of hostedKeys) {
    if (document.has([...path, key])) document.report([...path, key], 'has no meaning for the sandbox', 'key')
  }
  const { protocol, dialect, baseUrl } = sandboxProvider
  const claims = item.claims ?? []
  return { ...toParsed(ProviderEntry, item), protocol, dialect, baseUrl, claims, script: null }
}

function readHosted (entry: ConfigEntry<ProviderEntry>, document: YamlDocument): ProviderConfig {
  const { item, path } = entry
  const protocol = protocolOf(item)
  if (!isBuiltIn(protocol)) return readOwn(entry, protocol, document)
  const known = knownProviders.find((row) => row.id === item.id && row.protocol === protocol)
  const dialect = item.dialect ?? known?.dialect ?? 'compatible'
  if (item.video_ms !== undefined) document.report([...path, 'video_ms'], 'only has a meaning for the sandbox', 'key')
  for (const key of ['dialect', 'responses'] as const) {
    if (protocol === 'openai' || item[key] === undefined) continue
    document.report([...path, key], `has no meaning for the protocol ${protocol}`, 'key')
  }
  checkAws(entry, protocol, document)
  const [variable] = known?.keys ?? []
  const hasNothing = item.base_url === undefined && item.api_key === undefined && item.entra === undefined
  if (hasNothing && variable !== undefined && known?.keyless !== true) {
    document.report([...path, 'api_key'], `is missing; ${item.id} needs one, e.g. api_key: \${${variable}}`)
  }
  checkHeaders(entry, document)
  checkAllowedFields(entry, dialect, document)
  const azure = readAzure(entry, dialect, baseUrlOf(entry, protocol, dialect, document), document)
  const claims = item.claims ?? [...known?.claims ?? []]
  const vertex = readVertex(entry, protocol, dialect, document)
  return { ...parsed(item), protocol, dialect, claims, ...azure, ...vertex }
}

/** A provider whose protocol a plugin brings; the plugin gets only the base URL. */
function readOwn (
  entry: ConfigEntry<ProviderEntry>, protocol: string, document: YamlDocument
): ProviderConfig {
  const { item, path } = entry
  for (const key of ['dialect', 'api_key', 'headers', 'responses', 'allow_fields', 'video_ms'] as const) {
    const hint = key === 'api_key' || key === 'headers' ? '; use the options of the plugin' : ''
    if (document.has([...path, key])) document.report([...path, key], `is not given to plugins${hint}`, 'key')
  }
  const baseUrl = statedUrl(entry, document) ?? ''
  return { ...parsed(item), protocol, dialect: 'compatible', baseUrl, claims: item.claims ?? [] }
}

/** The fields as they stand; a script and an identity are read with what they refer to. */
function parsed (item: ProviderEntry) {
  return { ...toParsed(ProviderEntry, item), script: null, entra: null }
}

function checkProtocol ({ item, path }: ConfigEntry<ProviderEntry>, document: YamlDocument): void {
  const protocol = protocolOf(item)
  if (isBuiltIn(protocol)) return
  const hint = suggest(protocol, protocolNames)
  document.report([...path, 'protocol'], `must be one of ${protocolNames.join(', ')}${hint}`)
}

function isBuiltIn (protocol: string): protocol is Protocol {
  return protocolNames.some(name => name === protocol)
}

/** A dialect without a protocol means the protocol that has dialects. */
function protocolOf ({ id, protocol, dialect }: ProviderEntry): string {
  const known = dialect === undefined ? knownProviders.find((row) => row.id === id) : undefined
  return protocol ?? known?.protocol ?? 'openai'
}

/** The base URL in the file; empty for a wrong one, which is reported; null without one. */
function statedUrl ({ item, path }: ConfigEntry<ProviderEntry>, document: YamlDocument): string | null {
  if (item.base_url === undefined) return null
  const { url, problem } = readBaseUrl(item.base_url)
  if (problem !== null) document.report([...path, 'base_url'], problem)
  return url ?? ''
}

function baseUrlOf (
  entry: ConfigEntry<ProviderEntry>, protocol: Protocol, dialect: string, document: YamlDocument
): string {
  const { item, path } = entry
  const stated = statedUrl(entry, document)
  if (stated !== null) return stated
  if (isVertex(item, protocol, dialect)) return vertexUrl(item.region ?? 'global')
  const rows = knownProviders.filter((row) => row.protocol === protocol)
  const known = rows.find(({ id }) => id === item.id) ??
    rows.find((row) => protocol !== 'openai' || (row.dialect === dialect && dialect !== 'compatible'))
  const url = known?.baseUrl?.replace('{region}', item.region ?? '') ?? ''
  if (url === '') document.report([...path, 'base_url'], 'is missing')
  return url
}

/** A field that runs other models would bypass the models that a key may use. */
function checkAllowedFields (
  { item, path }: ConfigEntry<ProviderEntry>, dialect: string, document: YamlDocument
) {
  const fields = pricedFieldsOf(dialect)
  item.allow_fields?.forEach((name, index) => {
    const known = fields.find(field => field.name === name)
    const at = [...path, 'allow_fields', index]
    if (known === undefined) document.report(at, `is not rejected${suggest(name, fields.map(field => field.name))}`)
    else if (known.effect === 'model') document.report(at, 'cannot be allowed: it runs unchecked models')
  })
}

/** Headers that frame the request; changing them would break the connection. */
const framing = new Set(['connection', 'content-length', 'host', 'transfer-encoding', 'upgrade'])

function checkHeaders ({ item, path }: ConfigEntry<ProviderEntry>, document: YamlDocument) {
  for (const [name, value] of Object.entries(item.headers)) {
    const at = [...path, 'headers', name]
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) document.report(at, 'is not a valid header name', 'key')
    else if (framing.has(name.toLowerCase())) document.report(at, 'is set by the gateway', 'key')
    else if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) document.report(at, 'has characters that a header cannot contain')
  }
}
