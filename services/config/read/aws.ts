import type { Protocol } from '../../../schemas/config/known-providers.ts'
import type { ProviderEntry } from '../../../schemas/config/providers.ts'
import type { ConfigEntry } from '../validate/check-structure.ts'
import type { YamlDocument } from '../yaml/document.ts'

/** Reports credentials that are incomplete, or that have no effect beside a key. */
export function checkAws (
  { item, path }: ConfigEntry<ProviderEntry>, protocol: Protocol, document: YamlDocument
): void {
  const { aws, region, api_key: key } = item
  if (protocol !== 'bedrock') {
    if (aws !== undefined) document.report([...path, 'aws'], `has no meaning for the protocol ${protocol}`, 'key')
    return
  }
  if (region === undefined) document.report([...path, 'region'], 'is missing, e.g. region: eu-central-1')
  const halves = [aws?.access_key_id, aws?.secret_access_key].filter(half => half !== undefined)
  if (halves.length === 1) {
    document.report([...path, 'aws'], 'needs access_key_id and secret_access_key, or neither')
  }
  for (const name of ['access_key_id', 'profile', 'role_arn'] as const) {
    if (key !== undefined && aws?.[name] !== undefined) {
      document.report([...path, 'aws', name], 'has no effect beside api_key', 'key')
    }
  }
}
