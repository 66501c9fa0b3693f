import { Entra, type EntraConfig } from '../../../schemas/config/entra.ts'
import type { ProviderEntry } from '../../../schemas/config/providers.ts'
import type { ConfigEntry } from '../validate/check-structure.ts'
import type { YamlDocument } from '../yaml/document.ts'
import { toParsed } from './to-parsed.ts'

interface Azure { baseUrl: string, entra?: EntraConfig }

/** Returns the address and the identity of a provider at Azure; reports what another provider cannot have. */
export function readAzure (
  { item, path }: ConfigEntry<ProviderEntry>, dialect: string, baseUrl: string, document: YamlDocument
): Azure {
  if (dialect !== 'azure') {
    for (const key of ['entra', 'api_version'] as const) {
      if (item[key] !== undefined) document.report([...path, key], 'only has a meaning for Azure', 'key')
    }
    return { baseUrl }
  }
  // Versions with a date are not below `/v1`.
  const address = item.api_version === undefined ? baseUrl : baseUrl.replace(/(\/openai)\/v1$/, '$1')
  if (item.api_key !== undefined) {
    if (item.entra !== undefined) document.report([...path, 'entra'], 'has no meaning beside `api_key`', 'key')
    return { baseUrl: address }
  }
  const entra = entraOf(item.entra ?? {}, document.variable)
  const needs = needsOf(entra)
  if (needs !== null) document.report([...path, item.entra === undefined ? 'id' : 'entra'], needs)
  return { baseUrl: address, entra }
}

/** The identity that the variables of the Azure SDKs describe. */
export function entraFromEnvironment (env: NodeJS.ProcessEnv): EntraConfig {
  return entraOf({}, name => env[name] || null)
}

/** The missing members of an identity in a sentence; null if it is complete. */
export function needsOf (entra: EntraConfig): string | null {
  const { tenantId, clientId, clientSecret, certificate, federatedTokenFile } = entra
  if ((clientSecret ?? certificate ?? federatedTokenFile) === null) return null
  if (tenantId !== null && clientId !== null) return null
  return 'needs the tenant and the application: set tenant_id and client_id, or AZURE_TENANT_ID and AZURE_CLIENT_ID'
}

function entraOf (item: object, variable: (name: string) => string | null): EntraConfig {
  const set = toParsed(Entra, item)
  return {
    tenantId: set.tenantId ?? variable('AZURE_TENANT_ID'),
    clientId: set.clientId ?? variable('AZURE_CLIENT_ID'),
    clientSecret: set.clientSecret ?? variable('AZURE_CLIENT_SECRET'),
    certificate: set.certificate ?? variable('AZURE_CLIENT_CERTIFICATE_PATH'),
    certificatePassword: set.certificatePassword ?? variable('AZURE_CLIENT_CERTIFICATE_PASSWORD'),
    federatedTokenFile: set.federatedTokenFile ?? variable('AZURE_FEDERATED_TOKEN_FILE'),
    authority: set.authority ?? variable('AZURE_AUTHORITY_HOST'),
    scope: set.scope,
    endpoint: variable('IDENTITY_ENDPOINT'),
    header: variable('IDENTITY_HEADER')
  }
}
