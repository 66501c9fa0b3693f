import { createMessagesApi } from '../anthropic/anthropic.ts'
import type { PlaceCall } from '../anthropic/place.ts'
import { createGemini } from '../gemini/gemini.ts'
import type { ChatApi, Upstream } from '../provider.ts'
import { urlPart } from '../url-part.ts'
import { listVertexModels } from './model-list.ts'
import type { VertexPlace } from './place.ts'

/** Anthropic's models, by their names on Vertex AI. */
const claude = /^claude-/
/** The version of Anthropic's API that the adapter writes, and its name here. */
const version = { header: '2023-06-01', body: 'vertex-2023-10-16' }

/** Chat with Gemini, tuned models of Gemini (`endpoints/<id>`) and Claude. */
export function createVertexChat (upstream: Upstream, { server, path }: VertexPlace): ChatApi {
  const gemini = createGemini(upstream.at(`${server}/v1beta1${path}/publishers/google`))
  const tuned = createGemini(upstream.at(`${server}/v1beta1${path}`))
  const messages = createMessagesApi(upstream.at(`${server}/v1${path}/publishers/anthropic/models`), placeClaude)

  function apiOf (model: string): ChatApi {
    if (claude.test(model)) return messages
    return model.startsWith('endpoints/') ? tuned : gemini
  }

  return {
    ...messages,
    messageModels: claude,
    chat: call => apiOf(call.model).chat(call),
    unmet: (request, model) => apiOf(model).unmet?.(request, model) ?? { dropped: [], refused: [] },
    models: signal => listVertexModels(upstream.at(`${server}/v1beta1/publishers`), signal)
  }
}

/** The model is in the path, and the version in the body. Source: @anthropic-ai/vertex-sdk 1.1.3. */
const placeClaude: PlaceCall = ({ model, does, headers }) => {
  const { 'anthropic-version': stated = version.header, ...others } = headers
  const anthropicVersion = stated === version.header ? version.body : stated
  if (does === 'count') {
    return { path: '/count-tokens:rawPredict', headers: others, members: { model, anthropic_version: anthropicVersion } }
  }
  return {
    path: `/${urlPart(model)}:${does === 'stream' ? 'streamRawPredict' : 'rawPredict'}`,
    headers: others,
    members: { model: undefined, anthropic_version: anthropicVersion }
  }
}
