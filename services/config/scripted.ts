import type { ScriptFile } from '../../schemas/config/script.ts'
import type { GatewayConfig, ProviderConfig } from './catalogue/types.ts'
import { sandboxProvider } from './sandbox.ts'

/** The vendors whose models a gateway has without a `gateway.yaml`; nothing is sent to them. */
export const scriptedVendors = {
  OPENAI_API_KEY: 'scripted', ANTHROPIC_API_KEY: 'scripted', GEMINI_API_KEY: 'scripted'
}

/** The configuration with providers that play a script instead of calling servers, except the sandbox. */
export function scripted (config: GatewayConfig, script: ScriptFile): GatewayConfig {
  const play = (provider: ProviderConfig): ProviderConfig =>
    provider.id === sandboxProvider.id ? provider : { ...provider, discover: false, script }
  return { ...config, providers: config.providers.map(play) }
}
