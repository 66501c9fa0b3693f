import { readFileSync } from 'node:fs'
import t from 'tap'
import { guessKind, kindsAt, type ModelKind } from '../../../../services/config/catalogue/kinds.ts'
import { dialects } from '../../../../services/providers/openai/dialects.ts'

const openai = { protocol: 'openai', dialect: 'openai' } as const
const compatible = { protocol: 'openai', dialect: 'compatible' } as const
const fal = { protocol: 'fal', dialect: 'compatible' } as const
const replicate = { protocol: 'replicate', dialect: 'compatible' } as const

function namesIn (file: string): string[] {
  const url = new URL(`../../../../services/providers/fal/${file}`, import.meta.url)
  return Object.keys(JSON.parse(readFileSync(url, 'utf8')).models)
}

t.test('every video and image model of fal that the adapter declares has its kind', async t => {
  const videos = namesIn('models.json')
  t.equal(videos.length, 117)
  t.same(videos.filter(name => guessKind(fal, name) !== 'video'), [])
  t.same(namesIn('images.json').filter(name => guessKind(fal, name) !== 'image'), [])
})

const names: Partial<Record<ModelKind, string[]>> = {
  chat: [
    'gpt-6.2-sol', 'gpt-audio', 'o5-pro', 'chatgpt-4o-latest', 'claude-opus-5-5', 'qwen3-vl-32b', 'llava-onevision',
    'llama-3.3-70b', 'deepseek-v4-pro', 'babbage-002', 'brand-new', 'mixtral-8x22b', 'grok-5-fast', 'prompt-guardian-chat'
  ],
  image: ['dall-e-2', 'dall-e-3', 'gpt-image-3', 'flux-2-pro', 'stability/sdxl-turbo', 'google/gemini-4-flash-image'],
  video: ['sora-2', 'sora-2-pro', 'google/veo-3.1', 'wan-ai/wan2.2-t2v-a14b', 'minimax/hailuo-2.3', 'kwaivgi/kling-v2.1'],
  speech: ['tts-1', 'tts-1-hd', 'gpt-4o-mini-tts', 'canopylabs/orpheus-v1'],
  transcription: ['whisper-1', 'gpt-4o-transcribe', 'nvidia/parakeet-rnnt'],
  realtime: ['gpt-realtime', 'gpt-realtime-2', 'gpt-4o-realtime-preview'],
  embedding: ['text-embedding-3-large', 'BAAI/bge-m3', 'nomic-embed-text'],
  ranking: ['rerank-v4'],
  moderation: ['omni-moderation-latest', 'meta-llama/llama-guard-4-12b']
}

t.test('names that the catalogue lacks have the kind that they say', async t => {
  for (const [kind, examples] of Object.entries(names)) {
    t.same(examples.filter(name => guessKind(compatible, name) !== kind), [], kind)
  }
  t.equal(guessKind(replicate, 'google/veo-3.1-fast'), 'video')
  t.equal(guessKind(replicate, 'recraft-ai/recraft-v4'), 'image')
  t.equal(guessKind({ protocol: 'luma', dialect: 'compatible' }, 'photon'), 'video', 'it makes nothing else')
})

t.test('the kinds of a provider are those of its adapter', async t => {
  for (const [dialect, { videos }] of Object.entries(dialects)) {
    t.equal(kindsAt({ protocol: 'openai', dialect }).includes('video'), videos !== null, dialect)
  }
  t.same(kindsAt(openai), ['chat', 'image'])
  t.same(kindsAt(fal), ['image', 'video'])
})
