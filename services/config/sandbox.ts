import { defaultCreated, deploymentDefaults } from '../../schemas/config/models.ts'
import { newProvider } from './new-provider.ts'
import type { Capabilities, ModelConfig, ProviderConfig } from './catalogue/types.ts'
import { emptyPrice } from './catalogue/models.ts'

/** The built-in provider, for a gateway without API keys. */
export const sandboxProvider: ProviderConfig = newProvider({ id: 'sandbox', protocol: 'sandbox', baseUrl: '' })

/** Returns the sandbox's models at the provider of that id. Small prices make billing visible. */
export function sandboxModels (provider: string): ModelConfig[] {
  return [{
    ...commonTo(provider, 'sandbox-chat'),
    kind: 'chat',
    price: { ...emptyPrice, inputPico: 100_000, outputPico: 400_000 },
    contextWindow: 128_000,
    maxOutput: 4096,
    capabilities: { ...noCapabilities, tools: true, vision: true, jsonSchema: true, streaming: true }
  }, {
    ...commonTo(provider, 'sandbox-image'),
    kind: 'image',
    price: { ...emptyPrice, imageNano: 2_000_000 },
    contextWindow: null,
    maxOutput: null,
    capabilities: noCapabilities,
    images: {
      sizes: null,
      sizeRange: { min: 64, max: 2048, multipleOf: 1, maxRatio: 32, maxPixels: 2048 * 2048 },
      defaultSize: '1024x1024',
      qualities: ['low', 'medium', 'high'],
      prices: [
        { size: null, quality: 'low', imageNano: 1_000_000, furtherMegapixelNano: 500_000 },
        { size: null, quality: 'high', imageNano: 4_000_000, furtherMegapixelNano: 2_000_000 },
        { size: null, quality: null, imageNano: 2_000_000, furtherMegapixelNano: 1_000_000 }
      ],
      tokens: [],
      textOutputPico: null
    }
  }, {
    ...commonTo(provider, 'sandbox-video'),
    kind: 'video',
    price: { ...emptyPrice, secondNano: 2_000_000 },
    contextWindow: null,
    maxOutput: null,
    capabilities: { ...noCapabilities, vision: true },
    video: {
      seconds: [2, 4, 6, 8],
      defaultSeconds: 4,
      maxSeconds: 8,
      sizes: ['640x360', '360x640', '480x480', '320x180', '1280x720'],
      defaultSize: null,
      aspectRatios: ['16:9', '9:16', '1:1'],
      audio: false,
      defaultAudio: null,
      firstFrame: true,
      lastFrame: true,
      prices: []
    }
  }]
}

function commonTo (provider: string, id: string) {
  const deployments = [{ provider, model: id, ...deploymentDefaults }]
  return { id, deployments, quality: {}, ownedBy: provider, created: defaultCreated }
}

const noCapabilities: Capabilities = {
  tools: false,
  vision: false,
  audio: false,
  files: false,
  jsonSchema: false,
  reasoning: false,
  streaming: false
}
