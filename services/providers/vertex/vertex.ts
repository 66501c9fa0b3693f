import type { ProviderConfig } from '../../config/catalogue/types.ts'
import { createGeminiImages } from '../gemini/images.ts'
import { authorizeBy } from '../identity/authorize.ts'
import { fetchGoogleToken } from '../identity/google-tokens.ts'
import { openaiParts } from '../openai/openai.ts'
import { withoutQuality, type ImageProvider } from '../provider-image.ts'
import type { ProviderParts, Upstream } from '../provider.ts'
import { createVertexChat } from './chat.ts'
import { createImagen } from './imagen.ts'
import { vertexPlace, type VertexConfig } from './place.ts'
import { createVertexVideos } from './veo.ts'

/** Gemini, Claude, Imagen and Veo on Vertex AI. Source: @google/genai 3.1.0. */
export function vertexParts (config: VertexConfig): ProviderParts {
  const place = vertexPlace(config)
  const google = `${place.server}/v1beta1${place.path}/publishers/google`
  return {
    authorize: authorizeBy(async () => await fetchGoogleToken(config.credentials ?? null)),
    chat: upstream => createVertexChat(upstream, place),
    images: upstream => createVertexImages(upstream.at(google)),
    videos: upstream => createVertexVideos(upstream.at(google), place, config.bucket ?? null)
  }
}

/** Models of other makers on Vertex AI, which speak OpenAI's format. It has no list of them. */
export function vertexOpenParts (config: ProviderConfig): ProviderParts {
  const { server, path } = vertexPlace(config)
  const { chat } = openaiParts(config)
  return {
    authorize: authorizeBy(async () => await fetchGoogleToken(config.credentials ?? null)),
    ...(chat && {
      chat (upstream) {
        const { models, ...others } = chat(upstream.at(`${server}/v1${path}/endpoints/openapi`))
        return others
      }
    })
  }
}

function createVertexImages (google: Upstream): ImageProvider {
  const imagen = createImagen(google)
  const gemini = createGeminiImages(google)
  return withoutQuality(call => call.model.startsWith('gemini-') ? gemini(call) : imagen(call))
}
