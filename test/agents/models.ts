import { configFromEnvironment } from '../../services/config/environment/environment.ts'
import type { GatewayConfig, ModelConfig } from '../../services/config/catalogue/types.ts'
import { modelFromCatalogue } from '../../services/config/catalogue/models.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../helpers/gateway.ts'
import { startAnthropic } from '../servers/anthropic.ts'
import { startGemini } from '../servers/gemini.ts'
import { obedientChat, obedientClaude, obedientGemini, obedientResponses } from '../servers/obedient.ts'
import { startUpstream, type UpstreamRequest } from '../servers/upstream.ts'

/**
 * Public names of one model of each kind; that of kind `native` stands behind a provider with the Responses
 * API. Clients infer abilities from such names.
 */
export const models = {
  compatible: 'gpt-5-mini',
  claude: 'claude-sonnet-4-6',
  gemini: 'gemini-3.5-flash',
  native: 'gpt-5',
  sandbox: 'sandbox-chat'
} as const

export type KindOfModel = keyof typeof models

type Teardown = Parameters<typeof startGateway>[0]
type Options = Parameters<typeof startGateway>[1]

/** A gateway with a model of each kind; all but the sandbox's are obedient (test/servers/obedient.ts). */
export async function startModels (t: Teardown, options: Options = {}): Promise<Gateway> {
  const isResponses = (path: string) => new URL(path, 'http://upstream').pathname.endsWith('/responses')
  const native = ({ path }: UpstreamRequest) => isResponses(path) ? obedientResponses : obedientChat
  const servers = await Promise.all([
    startUpstream(), startAnthropic(), startGemini(), startUpstream({ route: native })
  ])
  for (const server of servers) t.teardown(() => server.close())
  const [compatible, claude, gemini, openai] = servers
  compatible.always(obedientChat)
  claude.always(obedientClaude)
  gemini.always(obedientGemini)
  const providers = [
    providerAt(compatible.url, { id: 'compatible' }),
    providerAt(new URL(claude.url).origin, { id: 'anthropic', protocol: 'anthropic', apiKey: 'sk-ant-secret' }),
    providerAt(gemini.baseUrl, { id: 'gemini', protocol: 'gemini', apiKey: 'gm-key' }),
    providerAt(openai.url, { id: 'openai', dialect: 'openai' })
  ]
  const own = configFromEnvironment({})
  const config: GatewayConfig = {
    ...configFor(providerAt(compatible.url)),
    providers: [...own.providers, ...providers],
    models: [
      ...own.models,
      modelOf('openai', models.compatible, 'compatible'),
      modelOf('anthropic', models.claude),
      modelOf('gemini', models.gemini),
      modelOf('openai', models.native)
    ]
  }
  return await startGateway(t, { config, ...options })
}

/** A model as the catalogue knows it of a vendor, behind a provider. */
function modelOf (vendor: string, id: string, provider = vendor): ModelConfig {
  const deployments = [{ provider, model: id, weight: 1, priority: 0 }]
  return { ...modelFromCatalogue(vendor, id), id, deployments }
}
