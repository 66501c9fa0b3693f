import type { GatewayConfig, ProviderConfig } from '../catalogue/types.ts'
import { ConfigError, type Problem } from '../config-error.ts'
import { blockDefaults } from '../defaults.ts'
import { knownProviders, type KnownProvider } from '../../../schemas/config/known-providers.ts'
import { entraFromEnvironment, needsOf } from '../read/azure.ts'
import { newProvider } from '../new-provider.ts'
import { readOllamaHost } from './ollama-host.ts'
import { builtInPolicies } from '../read/policies.ts'
import { readBaseUrl } from '../read-url.ts'
import { sandboxModels, sandboxProvider } from '../sandbox.ts'

/** Returns the configuration without a file: a provider per key, and the sandbox. Throws ConfigError. */
export function configFromEnvironment (env: NodeJS.ProcessEnv): GatewayConfig {
  const { providers, problems } = providersFromEnvironment(env)
  if (problems.length > 0) throw new ConfigError('The environment', problems)
  return {
    providers: [...providers, structuredClone(sandboxProvider)],
    models: sandboxModels(sandboxProvider.id),
    policies: builtInPolicies(),
    ...blockDefaults
  }
}

/** Returns a provider for every key and local address in `env`, except those whose id is in `taken`. */
export function providersFromEnvironment (
  env: NodeJS.ProcessEnv, taken: ReadonlySet<string> = new Set()
): { providers: ProviderConfig[], problems: Problem[] } {
  const problems: Problem[] = []
  const report = (variable: string, message: string) => {
    problems.push({ path: variable, line: null, column: null, message })
    return null
  }
  const found = [
    ...knownProviders.filter(({ id }) => !taken.has(id)).map((known) => hosted(known, env, report)),
    taken.has('ollama') ? null : ollama(env, report),
    taken.has('local') ? null : local(env, report)
  ]
  return { providers: found.filter((provider) => provider !== null), problems }
}

type Report = (variable: string, message: string) => null

function hosted (known: KnownProvider, env: NodeJS.ProcessEnv, report: Report): ProviderConfig | null {
  const variable = known.keys.find((name) => isSet(env[name]))
  if (variable === undefined) return withEntra(known, env, report)
  const apiKey = keyIn(env, variable, known) ?? report(known.pair?.secret ?? variable, `must be set together with ${variable}`)
  if (apiKey === null) return null
  const { id, protocol, dialect, claims, discover, regionVariables } = known
  const region = regionVariables?.map(name => env[name]).find(isSet)?.trim() ?? null
  if (regionVariables !== undefined && region === null) {
    return report(regionVariables[0] ?? '', `must be set together with ${variable}`)
  }
  const baseUrl = hostedUrl(known, env, variable, report)?.replace('{region}', region ?? '') ?? null
  if (baseUrl === null) return null
  return newProvider({ id, protocol, dialect, baseUrl, apiKey, claims: [...claims], discover, region })
}

/** Azure without a key, but with an address, is called with the identity of the environment. */
function withEntra (known: KnownProvider, env: NodeJS.ProcessEnv, report: Report): ProviderConfig | null {
  const { id, dialect, endpoint, discover } = known
  if (dialect !== 'azure' || endpoint === undefined || !isSet(env[endpoint.variable])) return null
  const entra = entraFromEnvironment(env)
  const needs = needsOf(entra)
  if (needs !== null) return report('AZURE_OPENAI_ENDPOINT', `has no key and its identity ${needs}`)
  const baseUrl = hostedUrl(known, env, endpoint.variable, report)
  return baseUrl === null ? null : newProvider({ id, dialect, baseUrl, entra, discover })
}

/** A pair is joined by a colon; null if its second half is missing. */
function keyIn (env: NodeJS.ProcessEnv, variable: string, { pair }: KnownProvider): string | null {
  const key = env[variable]?.trim() ?? null
  if (pair?.key !== variable) return key
  const secret = env[pair.secret]
  return isSet(secret) ? `${key}:${secret.trim()}` : null
}

function hostedUrl (
  { baseUrl, baseUrlVariable, endpoint }: KnownProvider, env: NodeJS.ProcessEnv, key: string, report: Report
): string | null {
  const override = env[baseUrlVariable]
  if (isSet(override)) return urlIn(baseUrlVariable, override, report)
  if (endpoint === undefined) return baseUrl
  const origin = env[endpoint.variable]
  if (!isSet(origin)) return report(endpoint.variable, `must be set together with ${key}`)
  const url = urlIn(endpoint.variable, origin, report)
  if (url === null) return null
  return new URL(url).pathname === '/' ? url + endpoint.path : url
}

function urlIn (variable: string, text: string, report: Report): string | null {
  const { url, problem } = readBaseUrl(text)
  return problem === null ? url : report(variable, problem)
}

function ollama (env: NodeJS.ProcessEnv, report: Report): ProviderConfig | null {
  const host = env.OLLAMA_HOST
  if (!isSet(host)) return null
  const baseUrl = readOllamaHost(host) ?? report('OLLAMA_HOST', 'must be host:port or a URL')
  return baseUrl === null ? null : newProvider({ id: 'ollama', dialect: 'ollama', baseUrl, discover: true })
}

function local (env: NodeJS.ProcessEnv, report: Report): ProviderConfig | null {
  const address = env.OPENAI_COMPATIBLE_BASE_URL
  if (!isSet(address)) return null
  const baseUrl = urlIn('OPENAI_COMPATIBLE_BASE_URL', address, report)
  if (baseUrl === null) return null
  const key = env.OPENAI_COMPATIBLE_API_KEY
  return newProvider({ id: 'local', baseUrl, apiKey: isSet(key) ? key.trim() : null, discover: true })
}

function isSet (value: string | undefined): value is string {
  return value !== undefined && value.trim() !== ''
}
