import fc from 'fast-check'
import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { quoteChat } from '../../../services/billing/chat-quote.ts'
import { createResponseLengths } from '../../../services/billing/response-lengths.ts'
import type { Charge } from '../../../services/billing/charge.ts'
import { promptSize } from '../../../services/billing/prompt-size.ts'
import { emptyPrice, modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
import { createReport } from '../../../services/providers/report.ts'
import { GatewayError } from '../../../services/shared/errors.ts'

const pico = fc.integer({ min: 0, max: 200_000_000 })
const tier = fc.record({ aboveTokens: fc.integer({ min: 1, max: 5000 }), inputPico: pico, outputPico: pico })
const situation = fc.record({
  price: fc.record({
    inputPico: pico, outputPico: pico, cacheWritePico: pico, tiers: fc.array(tier, { maxLength: 1 })
  }),
  ceilingNano: fc.integer({ min: 1, max: 50_000_000 }),
  words: fc.integer({ min: 1, max: 3000 }),
  limit: fc.option(fc.integer({ min: 1, max: 100_000 })),
  answers: fc.integer({ min: 1, max: 4 }),
  maxOutput: fc.option(fc.integer({ min: 16, max: 64_000 })),
  /** How much of what is allowed the provider uses of the prompt and of the answer. */
  used: fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))
})

t.test('a request never costs more than its ceiling, to the nano-dollar, whatever the provider counts', async t => {
  let atCeiling = 0
  const property = fc.asyncProperty(situation, async given => {
    const { price, ceilingNano, words, limit, answers, maxOutput, used } = given
    const request: ChatCompletionRequest = {
      model: 'auto', n: answers, messages: [{ role: 'user', content: 'word '.repeat(words) }], ...(limit === null ? {} : { max_tokens: limit })
    }
    const bodyBytes = Buffer.byteLength(JSON.stringify(request))
    const model = { ...modelFromCatalogue('p', 'm'), maxOutput, contextWindow: null }
    try {
      const quote = await quoteChat({
        request,
        prompt: promptSize(request, bodyBytes),
        model,
        limits: model,
        price: { ...emptyPrice, ...price },
        ceilingNano,
        means: async () => ({ availableNano: 1e12, unspentNano: 1e12 }),
        lengths: createResponseLengths()
      })
      const sent = Math.min(quote.outputLimit ?? Infinity, limit ?? Infinity, maxOutput ?? Infinity)
      const prompt = Math.floor(bodyBytes * used[0])
      const completion = Number.isFinite(sent) ? Math.floor(sent * used[1]) * answers : 0
      const charge: Charge = await quote.chargeFor({ ...createReport(), usage: { prompt, completion } })
      if (quote.maxNano > ceilingNano * 0.99) atCeiling++
      return quote.maxNano <= ceilingNano && charge.amountNano <= ceilingNano
    } catch (error) {
      // Not even one token is within the ceiling.
      return error instanceof GatewayError && error.code === 'no_model_qualifies'
    }
  })
  await fc.assert(property, { numRuns: 1000 })
  t.ok(atCeiling > 20, `${atCeiling} requests came close to it`)
})
