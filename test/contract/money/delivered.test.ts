import t, { type Test } from 'tap'
import { halfClose, head, reset, send, sequence, stall } from '../../servers/upstream.ts'
import {
  anthropic, ask, booksOf, compatible, costOf, counted, gemini, openShop, readWords, type Booked, type End,
  type Protocol, type Shop
} from '../delivery-shop.ts'

// Every end of a stream, with what is booked for it.

const protocols = [
  compatible('an OpenAI-compatible provider', content => ({ content })),
  compatible('a provider that counts in every chunk', content => ({ content }), true),
  compatible('reasoning of vLLM and Groq', reasoning => ({ reasoning })),
  anthropic,
  gemini
]
const words = 300

interface Ending {
  end: End
  /** Sends the request and waits for its end; `usualMs` is what a complete stream takes here now. */
  live (shop: Shop, usualMs: number): Promise<void>
}

async function readAll (shop: Shop): Promise<void> {
  const { body } = await ask(shop, { stream: true })
  await body.text()
}

async function leave (shop: Shop): Promise<void> {
  const leaving = new AbortController()
  const { body } = await ask(shop, { stream: true }, { signal: leaving.signal })
  await readWords(body, words)
  leaving.abort()
}

const endings: Record<string, Ending> = {
  'is complete': { end: 'complete', live: readAll },
  'is reset by the provider': { end: reset, live: readAll },
  'is closed by the provider': { end: halfClose, live: readAll },
  'ends with an error event': { end: 'error', live: readAll },
  'is left by its client': { end: stall, live: leave },
  'passes its deadline': {
    end: stall,
    async live (shop, usualMs) {
      const deadlineMs = Math.ceil(Math.max(200, 5 * usualMs))
      const { body } = await ask(shop, { stream: true }, { headers: { 'x-tollgate-deadline-ms': String(deadlineMs) } })
      const text = await body.text()
      if (!text.includes('deadline_exceeded')) throw new Error(text.slice(-500))
    }
  },
  'is ended by the closing gateway': {
    end: stall,
    async live (shop) {
      const { body } = await ask(shop, { stream: true })
      const readRest = await readWords(body, words)
      const closed = shop.gateway.app.close()
      const text = await readRest()
      if (!text.includes('shutting down')) throw new Error(text.slice(-500))
      await closed
    }
  }
}

/** Checks an entry: what the provider has counted exactly, and the rest within 3 %. */
function check (
  t: Test, entry: Booked | undefined, { end }: Ending, counts: boolean, { knownEarly }: Protocol
): void {
  if (entry === undefined) throw new Error('nothing was booked')
  const { prompt, completion } = entry.usage
  const isFinal = end === 'complete' && counts
  t.equal(prompt, isFinal || (counts && knownEarly !== 'nothing') ? counted.prompt : 8)
  if (isFinal || (counts && knownEarly === 'all')) t.equal(completion, words + counted.beyondWords)
  else t.ok(Math.abs(completion / words - 1) < 0.03, `${completion} tokens`)
  t.equal(entry.estimated, isFinal ? 0 : 1)
  t.equal(entry.amount, costOf(entry.usage))
}

for (const protocol of protocols) {
  for (const counts of [true, false]) {
    t.test(`${protocol.name}, ${counts ? 'with' : 'without'} usage`, async t => {
      const shop = await openShop(t, protocol, {}, { TOLLGATE_DRAIN_SECONDS: '0' })
      let [booked, usualMs] = [0, 0]
      for (const [name, ending] of Object.entries(endings)) {
        await t.test(`a stream that ${name}`, async t => {
          shop.upstream.script(protocol.stream({ words, end: ending.end, counts }))
          const startedMs = performance.now()
          await ending.live(shop, usualMs)
          if (ending.end === 'complete') usualMs = performance.now() - startedMs
          const { entries, held } = await booksOf(shop, ++booked)
          t.equal(entries.length, booked, 'one entry')
          t.equal(held, 0)
          check(t, entries[booked - 1], ending, counts, protocol)
        })
      }
    })
  }
}

/** Words of which none is counted, although the prompt is. */
const uncounted: Record<string, { protocol: Protocol, events: object[] }> = {
  'usage in every chunk': {
    protocol: compatible('compatible', content => ({ content }), true),
    events: Array.from({ length: words }, () => ({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta: { content: ' word' }, finish_reason: null }],
      usage: { prompt_tokens: counted.prompt, completion_tokens: 0, total_tokens: counted.prompt }
    }))
  },
  // Protobuf leaves out a count of zero.
  Gemini: {
    protocol: gemini,
    events: Array.from({ length: words }, () => ({
      candidates: [{ content: { role: 'model', parts: [{ text: ' word' }] }, index: 0 }],
      usageMetadata: { promptTokenCount: counted.prompt }
    }))
  }
}

for (const [name, { protocol, events }] of Object.entries(uncounted)) {
  t.test(`text beside which a count says zero is charged when its stream breaks off (${name})`, async t => {
    const shop = await openShop(t, protocol)
    const pieces = events.map(event => Buffer.from(`data: ${JSON.stringify(event)}\n\n`))
    const script = sequence(head({ 'content-type': 'text/event-stream' }), send(pieces), reset)
    shop.upstream.script(script, script)
    const legacy = { stream: true, messages: undefined, prompt: 'Hello, world!' }
    await readAll(shop)
    await (await ask(shop, legacy, { path: '/completions' })).body.text()
    const { entries } = await booksOf(shop, 2)
    t.equal(entries.length, 2)
    for (const { usage, estimated } of entries) {
      t.match({ prompt: usage.prompt, estimated }, { prompt: counted.prompt, estimated: 1 })
      t.ok(Math.abs(usage.completion / words - 1) < 0.03, `${usage.completion} tokens`)
    }
  })
}
