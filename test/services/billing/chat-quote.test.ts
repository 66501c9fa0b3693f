import t from 'tap'
import { quoteChat, type ChatSale } from '../../../services/billing/chat-quote.ts'
import { modelFromCatalogue } from '../../../services/catalogue/models.ts'
import { createReport, type Usage } from '../../../services/providers/provider.ts'
import { rejection } from '../../thrown.ts'

/** 1000 nano-USD per token of the prompt, 4000 per token of the answer. */
const price = {
  inputPico: 1_000_000,
  outputPico: 4_000_000,
  cacheReadPico: null,
  cacheWritePico: null,
  imageNano: null,
  secondNano: null
}
const free = { ...price, inputPico: 0, outputPico: 0 }

function sale (more: Partial<ChatSale> = {}): ChatSale {
  return {
    request: { model: 'm', messages: [{ role: 'user', content: 'Hello, world!' }], max_tokens: 10 },
    bodyBytes: 100,
    model: { ...modelFromCatalogue('p', 'm'), maxOutput: 1000, contextWindow: 8000 },
    price,
    available: () => { throw new Error('the balance is not needed') },
    ...more
  }
}

const unlimited = { model: 'm', messages: [{ role: 'user' as const, content: 'Hello, world!' }] }
const report = (usage: Usage | null) => ({ ...createReport(), usage })

t.test('the most it may cost is that of its bytes and of the output limit', async t => {
  const { maxNano, outputLimit } = await quoteChat(sale())
  const { maxNano: longer } = await quoteChat(sale({ bodyBytes: 101 }))
  const { maxNano: more } = await quoteChat(sale({ request: { ...unlimited, max_tokens: 11 } }))
  t.ok(maxNano >= 100 * 1000 + 10 * 4000)
  t.same([longer - maxNano, more - maxNano], [1000, 4000])
  t.equal(outputLimit, null, 'the client\'s own limit stands')
})

t.test('without a limit, the balance sets one, which goes to the provider', async t => {
  const dear = { ...price, outputPico: 400_000_000 }
  const available = async () => 800_000_000
  const { outputLimit } = await quoteChat(sale({ request: unlimited, price: dear, available }))
  t.equal(outputLimit, 250, 'an eighth of what is available, at 400,000 nano-USD per token')
})

t.test('reported usage is charged, and its counts are booked', async t => {
  const { chargeFor } = await quoteChat(sale())
  t.same(await chargeFor(report({ prompt: 5, completion: 3 })),
    { amountNano: 5 * 1000 + 3 * 4000, usage: { prompt: 5, completion: 3 }, estimated: false })
  const details = { cachedRead: 1, cacheWrite: 2, reasoning: 3, audioInput: 4, audioOutput: 5 }
  const counts = { prompt: 9, completion: 8, ...details }
  t.same((await chargeFor(report({ ...counts, costNano: 77 }))).usage, counts, 'not the provider\'s own cost')
})

t.test('without reported usage, an estimate of the prompt and of what was delivered is charged', async t => {
  const { chargeFor } = await quoteChat(sale())
  const delivered = report(null)
  delivered.delivered.takeText('Hello, world!')
  t.same(await chargeFor(delivered),
    { amountNano: 8 * 1000 + 4 * 4000, usage: { prompt: 8, completion: 4 }, estimated: true })
})

t.test('a free model holds and charges nothing, whatever it reports', async t => {
  const quote = await quoteChat(sale({ request: unlimited, price: free }))
  t.match(quote, { maxNano: 0, outputLimit: null })
  const charge = await quote.chargeFor(report({ prompt: 5, completion: 3 }))
  t.same(charge, { amountNano: 0, usage: {}, estimated: false })
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
  t.match(await rejection(quoteChat(sale({ price: null }))), { status: 400 })
})
