import { configFromEnvironment } from '../services/config/environment/environment.ts'
import type { GatewayConfig } from '../services/catalogue/types.ts'
import { modelFromCatalogue } from '../services/catalogue/models.ts'
import { configFor, providerAt, startGateway, type Gateway } from './helper.ts'
import { startAnthropic } from './servers/anthropic.ts'
import { startGemini } from './servers/gemini.ts'
import { obedientChat, obedientClaude, obedientGemini } from './servers/obedient.ts'
import { startUpstream, type Upstream } from './upstream.ts'

/** Public names of one model of each kind. Clients infer abilities from such names. */
export const fourModels = {
  compatible: 'gpt-5-mini', claude: 'claude-sonnet-4-6', gemini: 'gemini-3.5-flash', sandbox: 'sandbox-chat'
} as const

export type KindOfModel = keyof typeof fourModels
export const kindsOfModel = Object.keys(fourModels) as KindOfModel[]

export interface FourModels {
  gateway: Gateway
  servers: Record<Exclude<KindOfModel, 'sandbox'>, Upstream>
}

type Teardown = Parameters<typeof startGateway>[0]
type Options = Parameters<typeof startGateway>[1]

/** A gateway with a model of each kind; all but the sandbox's are obedient (test/servers/obedient.ts). */
export async function startFourModels (t: Teardown, options: Options = {}): Promise<FourModels> {
  const [compatible, claude, gemini] = await Promise.all([startUpstream(), startAnthropic(), startGemini()])
  const servers = { compatible, claude, gemini }
  for (const server of Object.values(servers)) t.teardown(() => server.close())
  compatible.always(obedientChat)
  claude.always(obedientClaude)
  gemini.always(obedientGemini)
  const providers = [
    providerAt(compatible.url, { id: 'openai' }),
    providerAt(new URL(claude.url).origin, { id: 'anthropic', protocol: 'anthropic', apiKey: 'sk-ant-secret' }),
    providerAt(gemini.baseUrl, { id: 'gemini', protocol: 'gemini', apiKey: 'gm-key' })
  ]
  const models = providers.map(({ id: provider }, at) => {
    const id = Object.values(fourModels)[at] ?? ''
    const deployments = [{ provider, model: id, weight: 1, priority: 0 }]
    return { ...modelFromCatalogue(provider, id), id, deployments }
  })
  const own = configFromEnvironment({})
  const config: GatewayConfig = {
    ...configFor(providerAt(compatible.url)),
    providers: [...own.providers, ...providers],
    models: [...own.models, ...models]
  }
  return { gateway: await startGateway(t, { config, ...options }), servers }
}
