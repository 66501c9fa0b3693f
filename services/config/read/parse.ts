import { AlertsBlock } from '../../../schemas/config/alerts.ts'
import { CatalogueBlock } from '../../../schemas/config/catalogue.ts'
import { ConsoleBlock } from '../../../schemas/config/console.ts'
import { BreakerEntry, RequestsEntry } from '../../../schemas/config/requests.ts'
import { UsageBlock } from '../../../schemas/config/usage.ts'
import { VideoBlock } from '../../../schemas/config/video.ts'
import type { GatewayConfig, ModelConfig, ProviderConfig } from '../catalogue/types.ts'
import { ConfigError } from '../config-error.ts'
import { providersFromEnvironment } from '../environment/environment.ts'
import { sandboxModels } from '../sandbox.ts'
import { checkStructure } from '../validate/check-structure.ts'
import { parseYaml } from '../yaml/document.ts'
import { readAliases } from './aliases.ts'
import type { RefusedLength } from './check-kind.ts'
import { readModels } from './models.ts'
import { readPlugins } from './plugins.ts'
import { readPolicies } from './policies.ts'
import { readProviders } from './providers.ts'
import { toParsed } from './to-parsed.ts'
import { initialModelNames } from '../catalogue/models.ts'

export interface ParseOptions {
  /** Knows the videos that providers do not make. */
  refusedLength?: RefusedLength
  /** Whether there are plugins besides those of the file, whose protocols it may name. */
  hasPlugins?: boolean
}

/** Returns the configuration in the file called `source`. Throws ConfigError with every problem. */
export function parseConfig (
  text: string, env: NodeJS.ProcessEnv, source = 'gateway.yaml',
  { refusedLength = () => null, hasPlugins = false }: ParseOptions = {}
): GatewayConfig {
  const document = parseYaml(text, env, source)
  const file = checkStructure(document)
  const listed = readProviders(file, document, hasPlugins || document.has(['plugins']))
  const listedIds = new Set(listed.map(({ id }) => id))
  const found = providersFromEnvironment(file.environmentProviders ? env : {}, listedIds)
  const providers = [...listed, ...found.providers]
  const models = withSandbox(readModels(file, providers, refusedLength, document), providers)
  const discovering = providers.filter((one) => one.discover || initialModelNames(one).length > 0)
  const discoveringIds = new Set(discovering.map(({ id }) => id))
  const policies = readPolicies(file, models, discoveringIds, document)
  const targets = { providers, models, policies, discovering: discoveringIds }
  const aliases = readAliases(file.aliases, targets, document)
  const alerts = toParsed(AlertsBlock, file.alerts, { document, path: ['alerts'] })
  const plugins = readPlugins(file.plugins, document)
  const problems = document.problems()
  if (problems.length > 0) throw new ConfigError(source, [...problems, ...found.problems])
  return {
    providers,
    models,
    policies,
    plugins,
    aliases,
    requests: toParsed(RequestsEntry, file.requests),
    breaker: toParsed(BreakerEntry, file.breaker),
    video: toParsed(VideoBlock, file.video),
    usage: toParsed(UsageBlock, file.usage),
    alerts,
    console: toParsed(ConsoleBlock, file.console),
    catalogue: toParsed(CatalogueBlock, file.catalogue),
    unpriced: file.unpriced,
    ignored: found.problems
  }
}

/** A listed sandbox adds its models, except those the file defines itself. */
function withSandbox (models: ModelConfig[], providers: readonly ProviderConfig[]): ModelConfig[] {
  const sandbox = providers.find(({ protocol }) => protocol === 'sandbox')
  if (sandbox === undefined) return models
  const ids = new Set(models.map(({ id }) => id))
  return [...models, ...sandboxModels(sandbox.id).filter(({ id }) => !ids.has(id))]
}
