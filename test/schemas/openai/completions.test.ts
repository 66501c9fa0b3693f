import Fastify from 'fastify'
import t from 'tap'
import { Completion, CompletionRequest } from '../../../schemas/openai/completions.ts'
import { completionRequest, type Patch } from '../corpus.ts'
import { compile, compileOpenAi } from '../validators.ts'

const accepts = compile(CompletionRequest)
const openAiAccepts = compileOpenAi('CreateCompletionRequest')

const nullable = [
  'prompt', 'best_of', 'echo', 'frequency_penalty', 'logit_bias', 'logprobs', 'max_tokens', 'n', 'presence_penalty',
  'seed', 'stop', 'stream', 'stream_options', 'suffix', 'temperature', 'top_p'
]

const accepted: Patch[] = [
  {}, ...nullable.map(field => ({ [field]: null })),
  { prompt: '' }, { prompt: [] }, { prompt: ['a', 'b'] }, { prompt: [1, 2] }, { prompt: [[1], [2, 3]] },
  { max_tokens: 0 }, { logprobs: 0 }, { logprobs: 5 }, { best_of: 0 }, { best_of: 20 }, { echo: true },
  { suffix: 'end' }, { user: 'u' }, { top_k: 40 }
]

const refused: Patch[] = [
  { model: undefined }, { prompt: undefined }, { prompt: 5 }, { prompt: {} }, { prompt: [1.5] },
  { prompt: [{}] }, { prompt: [[]] }, { prompt: [['a']] }, { max_tokens: -1 }, { logprobs: 6 }, { logprobs: true }, { best_of: 21 },
  { suffix: 5 }, { echo: 'yes' }, { n: 0 }, { user: null }
]

t.test('text completion requests are accepted and refused as the specification says', async t => {
  for (const patch of accepted) {
    t.ok(openAiAccepts(completionRequest(patch)), `specification accepts ${JSON.stringify(patch)}`)
    t.ok(accepts(completionRequest(patch)), `gateway accepts ${JSON.stringify(patch)}`)
  }
  for (const patch of refused) {
    t.notOk(openAiAccepts(completionRequest(patch)), `specification refuses ${JSON.stringify(patch)}`)
    t.notOk(accepts(completionRequest(patch)), `gateway refuses ${JSON.stringify(patch)}`)
  }
})

t.test('a text completion comes out of the server with every field it went in with', async t => {
  const body = {
    id: 'cmpl-1',
    object: 'text_completion',
    created: 1_790_000_000,
    model: 'davinci-002',
    choices: [{
      text: 'Hi',
      index: 0,
      logprobs: {
        tokens: ['H', 'i'],
        token_logprobs: [null, -0.123456789012],
        top_logprobs: [null, { i: -0.5 }],
        text_offset: [0, 1],
        extra: true
      },
      finish_reason: 'stop',
      stop_reason: null
    }, { text: '', index: 1, logprobs: null, finish_reason: null }],
    usage: null,
    system_fingerprint: null,
    extra: { a: [1.5] }
  }
  const app = Fastify()
  app.get('/', { schema: { response: { 200: Completion } } }, () => body)
  const response = await app.inject({ url: '/' })
  t.strictSame(response.json(), body)
})
