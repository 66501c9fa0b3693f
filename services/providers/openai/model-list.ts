import type { ModelKind } from '../../config/catalogue/kinds.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import type { ServerLimits, StatedModel } from '../provider.ts'
import { statedLimits } from '../server-limits.ts'

interface ListedModel { name: string, stated: StatedModel, limits: ServerLimits }

/**
 * Reads a server's list of models: `{data: […]}`, `{models: […]}` or the bare array (Together), of objects or
 * names. `prefix` is removed from the names, and `costOf` reads a row's `pricing`.
 */
export function readModelList (
  list: unknown, prefix: string, costOf: (pricing: unknown) => StatedModel['cost'] = () => undefined
): ListedModel[] {
  const rows = Array.isArray(list) ? list : isObject(list) ? list.data ?? list.models : []
  return (Array.isArray(rows) ? rows : []).flatMap((row: unknown) => {
    const model = isText(row) ? { id: row } : row
    if (!isObject(model)) return []
    const id = [model.id, model.model, model.name].find(isText)
    if (id === undefined) return []
    const name = id.startsWith(prefix) ? id.slice(prefix.length) : id
    const stated = { kind: statedKind(model), cost: costOf(model.pricing) }
    return [{ name, stated, limits: statedLimits(model) }]
  })
}

/**
 * Words for kinds, as values of `type` (Together, Vercel's AI Gateway, LM Studio) and of `output_modalities`
 * (OpenRouter). Read in November 2026.
 */
const kindWords: Readonly<Record<string, ModelKind>> = {
  chat: 'chat',
  language: 'chat',
  code: 'chat',
  llm: 'chat',
  vlm: 'chat',
  image: 'image',
  video: 'video',
  audio: 'speech',
  speech: 'speech',
  transcribe: 'transcription',
  transcription: 'transcription',
  embedding: 'embedding',
  embeddings: 'embedding',
  rerank: 'ranking',
  moderation: 'moderation',
  realtime: 'realtime'
}

/** The kind that a row states. A model with several outputs makes videos, images or text, in this order. */
function statedKind (row: JsonObject): ModelKind | undefined {
  const { output_modalities: outputs } = isObject(row.architecture) ? row.architecture : row
  if (!Array.isArray(outputs)) return kindNamed(row.type)
  const most = ['video', 'image', 'text'].find(one => outputs.includes(one))
  return most === 'text' ? 'chat' : kindNamed(most ?? outputs[0])
}

function kindNamed (word: unknown): ModelKind | undefined {
  return isText(word) && Object.hasOwn(kindWords, word) ? kindWords[word] : undefined
}
