import { request } from 'undici'
import t, { type Test } from 'tap'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { reply, startUpstream, type Completion } from '../../servers/upstream.ts'

/** Nano-USD per token: 1000 of the prompt, 2000 of the completion, 100 read from the cache, 1250 written. */
const price = {
  inputPico: 1_000_000,
  outputPico: 2_000_000,
  cacheReadPico: 100_000,
  cacheWritePico: 1_250_000,
  imageNano: null,
  secondNano: null
}
const messages = [{ role: 'user', content: 'Hello' }]
const counts = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 }
const read900 = 100 * 1000 + 900 * 100 + 10 * 2000
const written900 = 100 * 1000 + 900 * 1250 + 10 * 2000

/** A server's usage, what it costs in nano-USD, and the cached, written, reasoning and generated tokens. */
interface Report {
  usage: object
  nano: number
  read?: number
  written?: number
  thoughts?: number
  out?: number
}

const reports: Record<string, Report> = {
  'Kimi: cached tokens beside the counts': { usage: { ...counts, cached_tokens: 900 }, nano: read900, read: 900 },
  'DeepSeek: hits and misses': {
    usage: { ...counts, prompt_cache_hit_tokens: 900, prompt_cache_miss_tokens: 100 },
    nano: read900,
    read: 900
  },
  'LiteLLM before Claude: reads': {
    usage: { ...counts, cache_read_input_tokens: 900, prompt_tokens_details: { cached_tokens: 0 } },
    nano: read900,
    read: 900
  },
  'Mistral: its count of cached tokens': { usage: { ...counts, num_cached_tokens: 900 }, nano: read900, read: 900 },
  'Qwen: tokens written to the cache': {
    usage: {
      ...counts,
      prompt_tokens_details: { cache_creation_input_tokens: 900, cache_type: 'ephemeral', cached_tokens: 0 }
    },
    nano: written900,
    written: 900
  },
  'LiteLLM: tokens written, in the details': {
    usage: { ...counts, prompt_tokens_details: { cache_creation_tokens: 900 } },
    nano: written900,
    written: 900
  },
  'LiteLLM: tokens written, beside the counts': {
    usage: { ...counts, cache_creation_input_tokens: 900 }, nano: written900, written: 900
  },
  'vLLM: nulls among the details': {
    usage: {
      ...counts,
      prompt_tokens_details: { text_tokens: null, audio_tokens: null, cached_tokens: 900 },
      completion_tokens_details: { audio_tokens: null, reasoning_tokens: 4 }
    },
    nano: read900,
    read: 900,
    thoughts: 4
  },
  'thoughts beside the completion, by the total': {
    usage: {
      prompt_tokens: 21,
      completion_tokens: 0,
      total_tokens: 81,
      completion_tokens_details: { reasoning_tokens: 60 }
    },
    nano: 21_000 + 60 * 2000,
    thoughts: 60,
    out: 60
  },
  'thoughts beside the completion, without a total': {
    usage: { prompt_tokens: 21, completion_tokens: 5, reasoning_tokens: 60 },
    nano: 21_000 + 65 * 2000,
    thoughts: 60,
    out: 65
  },
  'thoughts within the completion': {
    usage: { prompt_tokens: 21, completion_tokens: 65, total_tokens: 86, reasoning_tokens: 60 },
    nano: 21_000 + 65 * 2000,
    thoughts: 60,
    out: 65
  }
}

async function openShop (t: Test) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close().catch(() => {}))
  const config = configFor(providerAt(upstream.url, { dialect: 'compatible' }), { price, maxOutput: 1000 })
  const gateway = await startGateway(t, { config, env: { TOLLGATE_STARTING_CREDIT: '1' } })
  let chargedNano = 0
  return {
    /** Posts a request to a provider that reports a usage; the response, and what it was charged. */
    async post (path: string, body: object, ...usages: (object | undefined)[]) {
      const edit = (usage: object | undefined) => (body: Completion): Completion =>
        body.usage == null ? body : { ...body, usage: usage as Completion['usage'] }
      const last = usages.at(-1)
      upstream.script(reply({}, {
        completion: edit(last),
        chunks: chunks => chunks.flatMap(chunk =>
          chunk.usage == null ? [chunk] : usages.map(usage => edit(usage)(chunk)))
      }))
      const response = await request(`${gateway.url}${path}`, {
        method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'chat', ...body })
      })
      const text = await response.body.text()
      await gateway.app.ledger.flush()
      const rows = await gateway.app.store.all("select coalesce(sum(amount), 0) as sum from entry where kind = 'usage'")
      const sum = Number(Object(rows[0]).sum)
      const nano = sum - chargedNano
      chargedNano = sum
      return { text, nano }
    }
  }
}

/** The last `usage` in a response: its body, or the events of its stream. */
function usageIn (text: string): Record<string, unknown> {
  const bodies = text.startsWith('{')
    ? [text]
    : text.split('\n').filter(line => line.startsWith('data: {')).map(line => line.slice(6))
  const usages = bodies.map(body => JSON.parse(body)).map(body => body.usage ?? body.response?.usage)
  return usages.findLast(usage => usage != null)
}

for (const [name, report] of Object.entries(reports)) {
  t.test(name, async t => {
    const { usage, nano, read = 0, written = 0, thoughts = 0, out = 10 } = report
    const { post } = await openShop(t)
    const prompt = Object(usage).prompt_tokens
    for (const stream of [false, true]) {
      const chat = { messages, stream, ...(stream && { stream_options: { include_usage: true } }) }
      const asChat = await post('/chat/completions', chat, usage)
      t.equal(asChat.nano, nano, 'the charge')
      t.match(usageIn(asChat.text), {
        prompt_tokens: prompt,
        completion_tokens: out,
        total_tokens: prompt + out,
        ...(read > 0 && { prompt_tokens_details: { cached_tokens: read } }),
        ...(written > 0 && { prompt_tokens_details: { cache_write_tokens: written } }),
        ...(thoughts > 0 && { completion_tokens_details: { reasoning_tokens: thoughts } }),
        cost: nano / 1e9
      })
      const asResponse = await post('/responses', { input: 'Hello', stream }, usage)
      t.equal(asResponse.nano, nano)
      t.match(usageIn(asResponse.text), {
        input_tokens_details: { cached_tokens: read }, output_tokens_details: { reasoning_tokens: thoughts }
      })
      const asMessage = await post('/messages', { messages, stream, max_tokens: 900 }, usage)
      t.equal(asMessage.nano, nano)
      t.match(usageIn(asMessage.text), {
        input_tokens: prompt - read - written, cache_read_input_tokens: read, output_tokens: out
      })
    }
  })
}

t.test('a running count never falls', async t => {
  const { post } = await openShop(t)
  const chat = { messages, stream: true, stream_options: { include_usage: true } }
  const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  for (const later of [zeros, { ...counts, completion_tokens: 3 }]) {
    const { text, nano } = await post('/chat/completions', chat, { ...counts, cached_tokens: 900 }, later)
    t.equal(nano, read900)
    t.match(usageIn(text), { ...counts, prompt_tokens_details: { cached_tokens: 900 } })
  }
})

t.test('counts that can be none never reach a client: the estimate that is charged does', async t => {
  const { post } = await openShop(t)
  for (const wrong of [-5, 10.7, 1e300]) {
    for (const stream of [false, true]) {
      const chat = { messages, stream, ...(stream && { stream_options: { include_usage: true } }) }
      const given = { ...counts, completion_tokens: wrong, total_tokens: null }
      const { text, nano } = await post('/chat/completions', chat, given)
      const usage = usageIn(text)
      t.not(usage.completion_tokens, wrong)
      const told = Number(usage.prompt_tokens) * 1000 + Number(usage.completion_tokens) * 2000
      t.equal(told, nano, 'the counts are those of the charge')
    }
    const details = { ...counts, cached_tokens: wrong, prompt_tokens_details: { cached_tokens: wrong } }
    const { text } = await post('/chat/completions', { messages }, details)
    t.notMatch(usageIn(text), { cached_tokens: wrong })
    t.notMatch(usageIn(text), { prompt_tokens_details: { cached_tokens: wrong } })
  }
})
