import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import type { CatalogueFile } from '../../../services/config/catalogue/catalogue-file.ts'
import { knownProviders } from '../../../schemas/config/known-providers.ts'
import { modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { finish, head, refusal, reply, send, sequence, startUpstream, type Script, type UpstreamRequest } from '../../servers/upstream.ts'

const file = new URL('../../../services/config/catalogue/models.json', import.meta.url)
const catalogue: CatalogueFile = JSON.parse(readFileSync(file, 'utf8'))

/** What may never be chosen, written without regard to how the pool is made. */
const unfit = new RegExp([
  'guard', 'safety', 'moderation', 'gliner', 'embed', 'rerank', 'whisper', 'tts', 'orpheus', 'voice', 'speech', 'audio', 'lyria',
  'image', 'esm2', 'esmfold', 'usdcode', 'usdvalidate', 'paligemma', 'riva', 'deep-research', 'codex(?!-spark)',
  '(gpt-[\\d.]+|o[134])-pro', 'turbo-instruct', 'multi-agent', 'router', ':free'
].join('|'))

function mayBeChosen (provider: string, model: string): boolean {
  const row = catalogue.providers[provider]?.[model]
  return row?.kind === 'chat' && row.deprecated !== true && !unfit.test(model.replace('fireworks/routers', '').toLowerCase())
}

const json = (body: object): Script => sequence(head({ 'content-type': 'application/json' }), send([Buffer.from(JSON.stringify(body))]), finish)
const events = (...list: [string, object][]): Script => sequence(
  head({ 'content-type': 'text/event-stream' }),
  send(list.map(([name, data]) => Buffer.from(`${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`))),
  finish
)

const message = {
  id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 9, output_tokens: 1 }
}
const end = { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } }
const claude: Script = json({ ...message, content: [{ type: 'text', text: 'Hi.' }], stop_reason: 'end_turn' })
const claudeStream: Script = events(
  ['message_start', { type: 'message_start', message }],
  ['content_block_start', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }],
  ['content_block_delta', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi.' } }],
  ['content_block_stop', { type: 'content_block_stop', index: 0 }],
  ['message_delta', { type: 'message_delta', ...end }],
  ['message_stop', { type: 'message_stop' }]
)
const gemini = {
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 2, totalTokenCount: 11 },
  modelVersion: 'gemini'
}

/** The provider and the model of a request: each provider has its id as the first segment of its address. */
function askedFor ({ path, body }: UpstreamRequest): { provider: string, model: string } {
  const [, , provider = ''] = path.split('/')
  const inPath = /models\/([^:]+):/.exec(path)?.[1]
  return { provider, model: inPath === undefined ? String(body?.model) : decodeURIComponent(inPath) }
}

/** All the ids that a provider lists, also of what cannot chat. */
function listOf (provider: string): object {
  const ids = Object.keys(catalogue.providers[provider] ?? {})
  return { data: ids.map(id => ({ id })), has_more: false, models: ids.map(id => ({ name: `models/${id}`, supportedGenerationMethods: ['generateContent'] })) }
}

/** A server that is every provider, and refuses what cannot chat there. */
function answerTo (request: UpstreamRequest): Script {
  const { provider, model } = askedFor(request)
  const { path, body, method } = request
  if (method === 'GET') return json(listOf(provider))
  if (!mayBeChosen(provider, model)) return refusal(404, { message: `The model ${model} cannot chat.`, code: 'model_not_found' })
  if (path.endsWith('/messages')) return body?.stream === true ? claudeStream : claude
  if (path.includes(':streamGenerateContent')) return events(['', gemini])
  return path.includes(':generateContent') ? json(gemini) : reply()
}

const subjects = [
  'What is the capital of Peru?', 'Write a Rust proxy with back-pressure and tests.', 'Prove that sqrt(2) is irrational.',
  'SELECT the ten customers with the highest revenue, in Postgres.', 'Translate "good morning" into Japanese.',
  'Напиши стихотворение о зиме.', '日本の首都はどこですか。', 'Summarize this: the bridge was closed for repairs.',
  'Extract the names as JSON: Ann met Bob.', 'A train covers 120 km in 90 minutes. How fast is it?'
]
const forms = [
  {}, { stream: true }, { temperature: 0.2, max_tokens: 300 }, { max_completion_tokens: 2000, stream: true }
]
const prompts = subjects.flatMap((text, at) => forms.map((form, number) => ({
  ...form, messages: [{ role: 'user', content: number === 3 ? `${text} Step ${at}. `.repeat(40) : text }]
})))
const policies = ['auto', 'auto:cost', 'auto:quality', 'auto:speed']

type Questions = readonly { policy: string, prompts: typeof prompts }[]

/** Each of the 40 prompts with each of the 4 policies. */
export const everything: Questions = policies.map(policy => ({ policy, prompts }))
/** Each prompt once, and each policy with every subject and every form. */
export const sample: Questions = policies.map((policy, row) => ({
  policy,
  prompts: prompts.filter((_, at) => (Math.floor(at / forms.length) + row - at) % forms.length === 0)
}))

/** The environment of a user who has the keys of these providers. */
function keysOf (ids: readonly string[], url: string): NodeJS.ProcessEnv {
  const known = knownProviders.filter(({ id }) => ids.includes(id))
  return Object.fromEntries(known.flatMap(({ id, keys: [key = ''], baseUrlVariable, endpoint }) => [
    [key, 'sk-test'], [baseUrlVariable, `${url}/${id}`], ...endpoint === undefined ? [] : [[endpoint.variable, url]]
  ]))
}

/** Ids of the providers with chat models whose wire the server here speaks; Bedrock's is its own. */
export const providerIds: readonly string[] = Object.entries(catalogue.providers)
  .filter(([id, models]) => id !== 'bedrock' && Object.values(models).some(({ kind }) => kind === 'chat'))
  .map(([id]) => id)

/** Asks `auto` with the keys of some providers: each question must be answered by a model that can chat. */
export async function serveAll (
  t: Test, ids: readonly string[], questions: Questions
): Promise<void> {
  const upstream = await startUpstream({ route: answerTo })
  t.teardown(() => upstream.close())
  const env = keysOf(ids, upstream.url)
  const config = configFromEnvironment(env)
  // The deployments there are the customer's own.
  if (ids.includes('azure')) {
    const names = Object.keys(catalogue.providers.azure ?? {})
    config.models.push(...names.filter(name => catalogue.providers.azure?.[name]?.kind === 'chat').map(name => modelFromCatalogue('azure', name)))
  }
  const gateway = await startGateway(t, { config, env })
  await gateway.app.models.discover(AbortSignal.timeout(30_000))
  const wrong = new Set<string>()
  let served = 0
  await Promise.all(questions.map(async ({ policy, prompts }) => {
    for (const prompt of prompts) {
      const response = await fetch(`${gateway.url}/chat/completions`, {
        method: 'POST', headers: gateway.headers, body: JSON.stringify({ ...prompt, model: policy })
      })
      const text = await response.text()
      const provider = response.headers.get('x-tollgate-provider') ?? ''
      const model = response.headers.get('x-tollgate-upstream-model') ?? ''
      if (response.status === 200 && mayBeChosen(provider, model)) served++
      else wrong.add(`${policy}: ${response.status} ${provider} ${model} ${text.slice(0, 200)}`)
    }
  }))
  t.strictSame([...wrong], [])
  t.equal(served, questions.reduce((sum, { prompts }) => sum + prompts.length, 0))
  const chosen = upstream.requests.filter(({ method }) => method === 'POST').map(request => askedFor(request))
  t.strictSame(chosen.filter(({ provider, model }) => !mayBeChosen(provider, model)), [], 'nothing else was tried')
}
