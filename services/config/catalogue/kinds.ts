import type { Protocol } from '../../../schemas/config/known-providers.ts'
import { ownMember } from '../../shared/json.ts'
import type { ModelConfig, ProviderConfig } from './types.ts'

/** What a model does. An endpoint serves the first three. */
export type ModelKind =
  ModelConfig['kind'] | 'speech' | 'transcription' | 'realtime' | 'embedding' | 'ranking' | 'moderation'

type ServedKind = ModelConfig['kind']

/** What each protocol generates; the first is the default. `openai` depends on the dialect. */
const protocolKinds: Readonly<Record<Exclude<Protocol, 'openai'>, readonly ServedKind[]>> = {
  anthropic: ['chat'],
  gemini: ['chat', 'image', 'video'],
  vertex: ['chat', 'image', 'video'],
  bedrock: ['chat', 'image', 'video'],
  sandbox: ['chat', 'image', 'video'],
  bfl: ['image'],
  fal: ['image', 'video'],
  replicate: ['image', 'video'],
  kling: ['video'],
  luma: ['video'],
  minimax: ['video'],
  runway: ['video'],
  seedance: ['video', 'image'],
  veo: ['video'],
  wan: ['video', 'image']
}

/** Dialects of `openai` without videos. */
const withoutVideos: ReadonlySet<string> = new Set([
  'openai', 'azure', 'groq', 'mistral', 'deepseek', 'perplexity', 'fireworks', 'cerebras', 'bedrock', 'llamacpp',
  'ollama', 'lmstudio', 'vertex'
])

/** Returns the kinds of models that a provider runs, the default first. */
export function kindsAt (
  { protocol, dialect }: Pick<ProviderConfig, 'protocol' | 'dialect'>
): readonly ServedKind[] {
  // Protocols of plugins serve chat.
  if (protocol !== 'openai') return ownMember<readonly ServedKind[]>(protocolKinds, protocol) ?? ['chat']
  return withoutVideos.has(dialect) ? ['chat', 'image'] : ['chat', 'image', 'video']
}

/** Kinds by name in lower case; the first match applies. Other names have the provider's default kind. */
const nameRules: readonly [ModelKind, RegExp][] = [
  ['video', /to-video/],
  ['image', /to-image/],
  ['embedding', /embed|(^|\/)(bge|gte|e5)-|colbert|retriev/],
  ['ranking', /rerank|(^|[-_/])reward([-_]|$)/],
  ['moderation', /moderation|gliner|(^|[-_/])(guard|shieldgemma|llama-guard|shieldlm)([-_\d]|$)/],
  ['realtime', /realtime/],
  ['transcription', /whisper|parakeet|transcri(be|ption)|(^|[-_/])(stt|asr)([-_\d]|$)/],
  ['speech', /orpheus|lyria|magpie|(^|[-_/])(tts|text-to-speech|speech)([-_\d]|$)/],
  ['video', /(^|[-_/])(sora|veo|gemini-omni|kling-(video|v\d|\d)|hailuo|seedance|pixverse|vidu|pika|t2v|i2v|r2v|video)([-_./\d]|$)|dream-machine|(^|\/)ray-?[23]|luma\.ray|nova-reel/],
  ['image', /dall-e|imagen|stable-diffusion|sdxl|seedream|ideogram|recraft|nano-banana|nova-canvas|(^|[-_/.])(stable-image|flux|image|t2i)([-_./\d]|$)/]
]

function kindByName (name: string): ModelKind | undefined {
  const lower = name.toLowerCase()
  return nameRules.find(([, pattern]) => pattern.test(lower))?.[0]
}

/** Returns the kind of a model that the catalogue lacks: by its name, else the provider's default. */
export function guessKind (provider: Pick<ProviderConfig, 'protocol' | 'dialect'>, upstream: string): ModelKind {
  const kinds = kindsAt(provider)
  const [usual] = kinds
  if (kinds.length === 1 && usual !== undefined) return usual
  return kindByName(upstream) ?? usual ?? 'chat'
}

/** Whether an endpoint serves models of a kind. */
export function isServed (kind: ModelKind): kind is ServedKind {
  return kind === 'chat' || kind === 'image' || kind === 'video'
}

/** What models of a kind do, as the end of a sentence. */
export const kindVerbs: Readonly<Record<ModelKind, string>> = {
  chat: 'chats',
  image: 'makes images',
  video: 'makes videos',
  speech: 'makes speech',
  transcription: 'transcribes speech',
  realtime: 'needs a realtime connection',
  embedding: 'makes embeddings',
  ranking: 'ranks texts',
  moderation: 'classifies texts'
}
