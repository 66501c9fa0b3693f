import { catalogueOffer } from '../../catalogue/catalogue-offer.ts'
import { checkStructure } from '../validate/check-structure.ts'
import type { GatewayConfig, ModelConfig, ProviderConfig } from '../../catalogue/types.ts'
import { ConfigError } from '../config-error.ts'
import { providersFromEnvironment } from '../environment/environment.ts'
import { readModels } from './models.ts'
import { readPolicies } from './policies.ts'
import { readProviders } from './providers.ts'
import { readBreaker, readRequests } from './requests.ts'
import { sandboxModels } from '../sandbox.ts'
import { readVideoSettings } from './video.ts'
import { parseYaml } from '../yaml/document.ts'

/**
 * Reads the text of an operator's file, fills in the environment, checks everything and returns what the
 * gateway serves. `source` is its name in problems. Throws ConfigError with every problem found.
 */
export function parseConfig (text: string, env: NodeJS.ProcessEnv, source = 'gateway.yaml'): GatewayConfig {
  const document = parseYaml(text, env)
  const file = checkStructure(document)
  const listed = readProviders(file, document)
  const taken = new Set(listed.map(({ id }) => id))
  const found = providersFromEnvironment(file.environmentProviders ? env : {}, taken)
  const providers = [...listed, ...found.providers]
  const models = withSandbox(readModels(file, new Set(providers.map(({ id }) => id)), document), providers)
  const offering = providers.filter((provider) => provider.discover || catalogueOffer(provider).length > 0)
  const chatIds = models.filter(({ kind }) => kind === 'chat').map(({ id }) => id)
  const videoIds = models.filter(({ kind }) => kind === 'video').map(({ id }) => id)
  const policies = readPolicies(file, chatIds, videoIds, new Set(offering.map(({ id }) => id)), document)
  const problems = [...document.problems(), ...found.problems]
  if (problems.length > 0) throw new ConfigError(source, problems)
  return {
    providers,
    models,
    policies,
    requests: readRequests(file.requests),
    breaker: readBreaker(file.breaker),
    video: readVideoSettings(file.video)
  }
}

/** A listed sandbox brings its models along, save those the file defines itself. */
function withSandbox (models: ModelConfig[], providers: readonly ProviderConfig[]): ModelConfig[] {
  const sandbox = providers.find(({ protocol }) => protocol === 'sandbox')
  if (sandbox === undefined) return models
  const ids = new Set(models.map(({ id }) => id))
  return [...models, ...sandboxModels(sandbox.id).filter(({ id }) => !ids.has(id))]
}
