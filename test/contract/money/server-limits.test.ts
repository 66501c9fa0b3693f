import t, { type Test } from 'tap'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import { createDatabase } from '../../helpers/engines.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { document, refusal, reply, startUpstream, type Script } from '../../servers/upstream.ts'

// What the gateway adds to a request is valid at its server, or no client ever hears of it.

const price = { ...emptyPrice, inputPico: 150_000, outputPico: 600_000 }

interface Strict { most: number, says: (asked: number, prompt: number) => string }

/** How servers refuse an answer that does not fit, each with its own window or longest answer. */
const servers: Record<string, Strict & { dialect: string }> = {
  vllm: {
    dialect: 'vllm',
    most: 8192,
    says: (asked, prompt) => `'max_tokens' or 'max_completion_tokens' is too large: ${asked}. This model's maximum context ` +
      `length is 8192 tokens and your request has ${prompt} input tokens (${asked} > 8192 - ${prompt}).`
  },
  'older vllm': {
    dialect: 'vllm',
    most: 8192,
    says: (asked, prompt) => `This model's maximum context length is 8192 tokens. However, you requested ${asked + prompt} ` +
      `tokens (${prompt} in the messages, ${asked} in the completion). Please reduce the length of the messages or completion.`
  },
  sglang: {
    dialect: 'compatible',
    most: 8192,
    says: (asked, prompt) => 'Requested token count exceeds the model\'s maximum context length of 8192 tokens. You requested a ' +
      `total of ${asked + prompt} tokens: ${prompt} tokens from the input messages and ${asked} tokens for the completion.`
  },
  groq: {
    dialect: 'groq',
    most: 8192,
    says: () => '`max_completion_tokens` must be less than or equal to `8192`, the maximum value for `max_completion_tokens` ' +
      'is less than the `context_window` for this model'
  },
  together: {
    dialect: 'together',
    most: 8193,
    says: (asked, prompt) => 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: ' +
      `${prompt} \`inputs\` tokens and ${asked} \`max_new_tokens\``
  }
}

const usage = { prompt: 1500, completion: 5 }
const messages = [{ role: 'user', content: 'word '.repeat(1200) }]

/** A server that refuses a limit beyond the end of its window, where it takes the prompt for 1500 tokens. */
function strict ({ most, says }: Strict): Script {
  return exchange => {
    const { max_tokens: one, max_completion_tokens: other } = exchange.request.body ?? {}
    const asked = Number(one ?? other ?? 0)
    return (asked + 1500 > most ? refusal(400, { message: says(asked, 1500) }) : reply({ usage }))(exchange)
  }
}

interface ShopOptions {
  dialect: string
  credit: string
  models?: object[]
  contextWindow?: number | null
}

async function openShop (t: Test, { dialect, credit, models, contextWindow = null }: ShopOptions) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  if (models !== undefined) upstream.models(document(JSON.stringify({ object: 'list', data: models })))
  const provider = providerAt(upstream.url, { dialect, discover: models !== undefined })
  const config = configFor(provider, { price, contextWindow, maxOutput: null })
  const database = await createDatabase(t, 'sqlite')
  const { app, url, headers } = await startGateway(t, {
    config, env: { TOLLGATE_STARTING_CREDIT: credit, DATABASE_URL: database.url }
  })
  if (models !== undefined) await app.models.discover(AbortSignal.timeout(10_000))
  const calls = () => upstream.requests.filter(({ method }) => method === 'POST')
  const ask = async (more: object = {}, path = '/chat/completions', body: object = { messages }) => {
    const before = calls().length
    const response = await fetch(`${url}${path}`, {
      method: 'POST', headers: { ...headers, 'anthropic-version': '1' }, body: JSON.stringify({ model: 'chat', ...body, ...more })
    })
    const text = await response.text()
    const [sent] = calls().slice(-1)
    return { status: response.status, text, calls: calls().length - before, sent: sent?.body ?? {} }
  }
  return { upstream, ask }
}

const limitIn = (body: Readonly<Record<string, unknown>>) => body.max_tokens ?? body.max_completion_tokens

for (const [name, server] of Object.entries(servers)) {
  t.test(`${name}: requests without a limit are answered at every balance, and the window is learned`, async t => {
    for (const credit of ['1000', '0.05', '0.02', '0.01']) {
      const { upstream, ask } = await openShop(t, { dialect: server.dialect, credit })
      upstream.always(strict(server))
      const first = await ask()
      t.equal(first.status, 200, `$${credit}: ${first.text}`)
      t.ok(first.calls <= 2)
      const second = await ask()
      t.match(second, { status: 200, calls: 1 })
      t.equal((await ask({ stream: true })).status, 200)
    }
  })
}

t.test('a stream that runs without the refused limit still ends where the hold does', async t => {
  const server = servers.together!
  const { upstream, ask } = await openShop(t, { dialect: 'together', credit: '0.0105' })
  const text = Array.from({ length: 20_000 }, () => 'some word ')
  upstream.always(exchange => {
    const isLimited = limitIn(exchange.request.body ?? {}) !== undefined
    return (isLimited ? refusal(400, { message: server.says(9000, 1500) }) : reply({ text, usage }))(exchange)
  })
  const { status, text: answer } = await ask({ stream: true })
  t.equal(status, 200)
  t.match(answer, /"finish_reason":\s*"length"/)
  t.ok(answer.length < 20_000 * 100, `${answer.length} bytes`)
})

t.test('a limit of the client is the client\'s: its refusal is passed on', async t => {
  const { upstream, ask } = await openShop(t, { dialect: 'vllm', credit: '1000' })
  upstream.always(strict(servers.vllm!))
  const { status, text, calls } = await ask({ max_tokens: 9000 })
  t.match({ status, calls }, { status: 400, calls: 1 })
  t.match(text, 'is too large: 9000')
})

t.test('a refusal that is not about the limit teaches nothing', async t => {
  const { upstream, ask } = await openShop(t, { dialect: 'vllm', credit: '0.05' })
  upstream.always(refusal(400, { message: 'There is no tool called "context length is 1".' }))
  t.equal((await ask()).status, 400)
  upstream.always(reply({ usage }))
  t.equal((await ask()).status, 200)
})

const rows: Record<string, object> = {
  vllm: { max_model_len: 8192 },
  groq: { context_window: 8192 },
  together: { context_length: 8192 },
  openrouter: { context_length: 8192, top_provider: { context_length: 8192, max_completion_tokens: 4000 } },
  compatible: { meta: { n_ctx: 8192, n_ctx_train: 131_072 } }
}

for (const [dialect, row] of Object.entries(rows)) {
  t.test(`${dialect}: the window is read from the list of models`, async t => {
    for (const credit of ['1000', '0.01']) {
      const { upstream, ask } = await openShop(t, { dialect, credit, models: [{ id: 'gpt-5-nano', ...row }] })
      upstream.always(strict({ most: 8192, says: servers.vllm!.says }))
      t.match(await ask(), { status: 200, calls: 1 })
      t.match(await ask({}, '/completions', { prompt: 'word '.repeat(1200) }), { status: 200 })
      const long = [{ role: 'user', content: 'word '.repeat(40_000) }]
      const { status, text } = await ask({ messages: long })
      t.equal(status, 400)
      t.match(text, /maximum context length is 8192 tokens/)
    }
  })
}

t.test('a limit leaves room for the prompt in a known window, on every API and at every balance', async t => {
  for (const credit of ['100', '0.05', '0.04', '0.035', '0.02', '0.01', '0.005']) {
    const { upstream, ask } = await openShop(t, { dialect: 'vllm', credit, contextWindow: 8192 })
    upstream.always(strict({ most: 8192, says: servers.vllm!.says }))
    const content = 'word '.repeat(1200)
    t.match(await ask(), { status: 200, calls: 1 }, `$${credit}`)
    t.match(await ask({}, '/responses', { input: content }), { status: 200, calls: 1 }, `$${credit}`)
    t.match(await ask({}, '/messages', { messages, max_tokens: 100 }), { status: 200, calls: 1 }, `$${credit}`)
    t.match(await ask({}, '/completions', { prompt: content }), { status: 200, calls: 1 }, `$${credit}`)
    const lowered = await ask({ max_tokens: 100_000 })
    if (Number(credit) > 0.01) t.match(lowered, { status: 200, calls: 1 }, 'what the gateway lowers it lowers enough')
  }
})
