import t from 'tap'
import { quoteChat, type ChatSale } from '../../../services/billing/chat-quote.ts'
import { createResponseLengths } from '../../../services/billing/response-lengths.ts'
import { createReport, type Usage } from '../../../services/providers/report.ts'
import { rejection } from '../../helpers/thrown.ts'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'

/** 1000 nano-USD per token of the prompt, 4000 per token of the answer. */
const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 4_000_000 }
const free = { ...price, inputPico: 0, outputPico: 0 }

/** A prompt whose text has so many bytes. */
const promptOf = (bytes: number) => ({ bounded: bytes, open: 0, usual: Math.ceil(bytes / 3) })

function sale (more: Partial<ChatSale> = {}): ChatSale {
  return {
    request: { model: 'm', messages: [{ role: 'user', content: 'Hello, world!' }], max_tokens: 10 },
    prompt: promptOf(100),
    model: { id: 'm' },
    limits: { maxOutput: 1000, contextWindow: 8000 },
    price,
    means: () => { throw new Error('the balance is not needed') },
    lengths: createResponseLengths(),
    ...more
  }
}

const unlimited = { model: 'm', messages: [{ role: 'user' as const, content: 'Hello, world!' }] }
const report = (usage: Usage | null) => ({ ...createReport(), usage })

t.test('the most it may cost is that of its bytes and of the output limit', async t => {
  const { maxNano, outputLimit } = await quoteChat(sale())
  const { maxNano: longer } = await quoteChat(sale({ prompt: promptOf(101) }))
  const { maxNano: more } = await quoteChat(sale({ request: { ...unlimited, max_tokens: 11 } }))
  t.ok(maxNano >= 100 * 1000 + 10 * 4000)
  t.same([longer - maxNano, more - maxNano], [1000, 4000])
  t.equal(outputLimit, null, 'the client\'s own limit stands')
})

t.test('without a limit, the balance sets one, which goes to the provider', async t => {
  const dear = { ...price, outputPico: 400_000_000 }
  const means = async () => ({ availableNano: 100_000_000, unspentNano: 1_600_000_000 })
  const limits = { maxOutput: 4000, contextWindow: 8000 }
  const { outputLimit } = await quoteChat(sale({ request: unlimited, price: dear, means, limits }))
  t.equal(outputLimit, 1999, 'half of what is not spent, at 400,000 nano-USD per token')
})

t.test('reported lengths of answers without a limit decide how much the next one is allowed', async t => {
  const lengths = createResponseLengths()
  const limits = { maxOutput: 64_000, contextWindow: 128_000 }
  const means = async () => ({ availableNano: 0, unspentNano: 1_000_000_000 })
  const limitAfter = async (request: ChatSale['request'], usage: Usage) => {
    for (let answer = 0; answer < 20; answer++) {
      const { chargeFor } = await quoteChat(sale({ request, limits, means, lengths }))
      await chargeFor(report(usage))
    }
    return (await quoteChat(sale({ request: unlimited, limits, means, lengths }))).outputLimit
  }
  const short = { ...unlimited, max_tokens: 1 }
  t.equal(await limitAfter(short, { prompt: 1, completion: 1 }), 4096, 'what a client has cut says nothing')
  t.equal(await limitAfter({ ...unlimited, n: 2 }, { prompt: 1, completion: 3000 }), 8192, '1500 tokens each')
})

t.test('reported usage is charged, and its counts are booked', async t => {
  const { chargeFor } = await quoteChat(sale())
  t.same(await chargeFor(report({ prompt: 5, completion: 3 })),
    { amountNano: 5 * 1000 + 3 * 4000, usage: { prompt: 5, completion: 3 }, estimated: false })
  const cached = { cachedRead: 1, cacheWrite: 2, cacheWrite1h: 1 }
  const details = { ...cached, reasoning: 3, audioInput: 4, audioOutput: 5 }
  const counts = { prompt: 9, completion: 8, ...details }
  t.same((await chargeFor(report({ ...counts, costNano: 77 }))).usage, counts, 'not the provider\'s own cost')
})

t.test('an estimate costs no more than is held, and no prompt is longer than the context window', async t => {
  const text = 'word '.repeat(100_000)
  const request = { model: 'm', messages: [{ role: 'user' as const, content: text }], max_tokens: 10 }
  const { maxNano, chargeFor } = await quoteChat(sale({ request, prompt: promptOf(text.length) }))
  const delivered = report(null)
  delivered.delivered.takeText(text + text)
  t.match(await chargeFor(delivered), { amountNano: maxNano, usage: { prompt: 8000 }, estimated: true })
})

t.test('what the provider has counted is charged in full, however much text came after it', async t => {
  const { maxNano, chargeFor } = await quoteChat(sale())
  const text = 'word '.repeat(100_000)
  const counted = report({ prompt: 9000, completion: 5000 })
  counted.delivered.takeText(text)
  const charge = { amountNano: 9000 * 1000 + 5000 * 4000, usage: { prompt: 9000 }, estimated: true }
  t.ok(charge.amountNano > maxNano)
  t.match(await chargeFor(counted), charge, 'a count, and an estimate above the hold')

  const request = unlimited
  const uncounted = report(null)
  uncounted.delivered.takeText(text)
  const { amountNano } = charge
  const calls = [
    { request, report: report({ prompt: 9000, completion: 5000 }) }, { request, report: uncounted }
  ]
  t.match(await chargeFor({ ...report(null), calls }), { amountNano }, 'beside a call without a count')
})

t.test('several calls cost the sum, each at its own tier', async t => {
  const tiers = [{ aboveTokens: 100, inputPico: 2_000_000, outputPico: 4_000_000 }]
  const { chargeFor } = await quoteChat(sale({ price: { ...price, tiers } }))
  const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Hello, world!' }] }
  const callOf = (usage: Usage) => ({ request, report: report(usage) })
  const calls = [callOf({ prompt: 60, completion: 1 }), callOf({ prompt: 60, completion: 2, cachedRead: 5 })]
  t.same(await chargeFor({ ...report(null), calls }), {
    amountNano: 120 * 1000 + 3 * 4000, usage: { prompt: 120, completion: 3, cachedRead: 5 }, estimated: false
  })
})

t.test('the sum of several calls is a number that the ledger can hold', async t => {
  const dear = { ...price, outputPico: Number.MAX_SAFE_INTEGER }
  const { chargeFor } = await quoteChat(sale({ price: dear }))
  const call = { request: unlimited, report: report({ prompt: 1, completion: 2 ** 32 }) }
  const uncounted = { request: unlimited, report: report(null) }
  for (const calls of [[call, call], [call, call, uncounted]]) {
    t.equal((await chargeFor({ ...report(null), calls })).amountNano, Number.MAX_SAFE_INTEGER)
  }
})

t.test('without reported usage, an estimate of the prompt and of what was delivered is charged', async t => {
  const { chargeFor } = await quoteChat(sale())
  const delivered = report(null)
  delivered.delivered.takeText('Hello, world!')
  const usage = { prompt: 8, completion: 4 }
  t.same(await chargeFor(delivered),
    { amountNano: 8 * 1000 + 4 * 4000, usage, estimated: true, isUsageEstimated: true })
})

t.test('what the operator pays stands beside the charge: by the cost price, and as reported', async t => {
  const { chargeFor } = await quoteChat(sale())
  const cost = { ...price, inputPico: 500_000, outputPico: 1_000_000 }
  const usage = { prompt: 5, completion: 3 }
  t.match(await chargeFor(report(usage), cost), { amountNano: 17_000, costNano: 5_500 })
  t.match(await chargeFor(report({ ...usage, costNano: 7 }), cost), { costNano: 5_500, reportedNano: 7 })
  const charge = await chargeFor(report(usage), null)
  t.notOk('costNano' in charge || 'reportedNano' in charge)
})

t.test('a free model holds and charges nothing, and its tokens are booked', async t => {
  const quote = await quoteChat(sale({ request: unlimited, price: free }))
  t.match(quote, { maxNano: 0, outputLimit: null })
  const charge = await quote.chargeFor(report({ prompt: 5, completion: 3 }))
  t.same(charge, { amountNano: 0, usage: { prompt: 5, completion: 3 }, estimated: false })
})

t.test('a model is not free if anything it can be used for costs something', async t => {
  for (const more of [
    { inputPico: 1 },
    { outputPico: 1 },
    { audioInputPico: 1_000_000 },
    { audioOutputPico: 1_000_000 },
    { tiers: [{ aboveTokens: 10, inputPico: 1_000_000, outputPico: 0 }] }
  ]) {
    const { chargeFor } = await quoteChat(sale({ price: { ...free, ...more } }))
    const usage = { prompt: 5_000_000, completion: 5_000_000, audioInput: 1000, audioOutput: 1000 }
    t.ok((await chargeFor(report(usage))).amountNano > 0, JSON.stringify(more))
  }
})

t.test('a model without a price is not sold', async t => {
  t.match(await rejection(Promise.try(quoteChat, sale({ price: null }))), { status: 400 })
})
