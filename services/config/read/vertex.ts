import type { Protocol } from '../../../schemas/config/known-providers.ts'
import type { ProviderEntry } from '../../../schemas/config/providers.ts'
import type { ConfigEntry } from '../validate/check-structure.ts'
import type { YamlDocument } from '../yaml/document.ts'

/** Regions of several data centres, with addresses of their own. Source: @google/genai 3.1.0. */
const multiRegions: ReadonlySet<string> = new Set(['us', 'eu'])

/** Whether a provider is Vertex AI, by Google's protocols or OpenAI's; a proxy of the latter has a key. */
export function isVertex ({ api_key: key }: ProviderEntry, protocol: Protocol, dialect: string): boolean {
  return protocol === 'vertex' || (protocol === 'openai' && dialect === 'vertex' && key === undefined)
}

/** The address of Vertex AI in a region. Source: @google/genai 3.1.0, @anthropic-ai/vertex-sdk 1.1.3. */
export function vertexUrl (region: string): string {
  if (region === 'global') return 'https://aiplatform.googleapis.com'
  if (multiRegions.has(region)) return `https://aiplatform.${region}.rep.googleapis.com`
  return `https://${region}-aiplatform.googleapis.com`
}

const projectVariable = 'GOOGLE_CLOUD_PROJECT'
const itsKeys = ['project', 'credentials', 'bucket'] as const

/** Returns what Vertex AI needs, with defaults. Reports missing keys, and those of other providers. */
export function readVertex (
  { item, path }: ConfigEntry<ProviderEntry>, protocol: Protocol, dialect: string, document: YamlDocument
): { region?: string, credentials?: string | null } {
  if (!isVertex(item, protocol, dialect)) {
    for (const key of itsKeys) {
      if (item[key] !== undefined) document.report([...path, key], 'only has a meaning for Vertex AI', 'key')
    }
    return {}
  }
  if (item.project === undefined) {
    document.report([...path, 'project'], `is missing, e.g. project: \${${projectVariable}}`)
  }
  if (item.api_key !== undefined) document.report([...path, 'api_key'], 'has no meaning here; set credentials', 'key')
  const file = document.variable('GOOGLE_APPLICATION_CREDENTIALS')
  return { region: item.region ?? 'global', credentials: item.credentials ?? file }
}
