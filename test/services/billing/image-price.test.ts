import t from 'tap'
import type { ImageAbilities, Price } from '../../../services/config/catalogue/types.ts'
import { unknownImages } from '../../../services/config/catalogue/images.ts'
import { catalogueModel, emptyPrice } from '../../../services/config/catalogue/models.ts'
import { parseSize } from '../../../services/images/check-request.ts'
import { quoteImages } from '../../../services/billing/image-price.ts'
import type { GeneratedImages } from '../../../services/providers/provider-image.ts'
import { thrown } from '../../helpers/thrown.ts'

interface Asked { size?: string, quality?: string, count?: number, prompt?: string }

function quoteOf (price: Price | null, images: Partial<ImageAbilities>, asked: Asked = {}) {
  const { size, quality = null, count = 1, prompt = 'A fox' } = asked
  const wanted = { count, size: size === undefined ? null : parseSize(size), quality, dropped: [] }
  return quoteImages({ model: { id: 'm', price, images: { ...unknownImages, ...images } }, wanted, prompt })
}

function answerOf (made: number, more: Partial<GeneratedImages> = {}): GeneratedImages {
  const images = Array.from({ length: made }, () => ({ url: 'https://x.example.com', revisedPrompt: null }))
  return { images, usage: null, costNano: null, dropped: [], ...more }
}

t.test('a price per image is exact before the call, by size and quality', async t => {
  const prices = [
    { size: '1024x1024', quality: 'high', imageNano: 167_000_000, furtherMegapixelNano: 0 },
    { size: null, quality: 'high', imageNano: 250_000_000, furtherMegapixelNano: 0 },
    { size: null, quality: null, imageNano: 11_000_000, furtherMegapixelNano: 0 }
  ]
  const hold = (asked: Asked) => quoteOf(emptyPrice, { prices }, asked).maxNano
  t.equal(hold({ size: '1024x1024', quality: 'high' }), 167_000_000)
  t.equal(hold({ size: '1536x1024', quality: 'high', count: 3 }), 750_000_000)
  t.equal(hold({ quality: 'low' }), 11_000_000)
  t.equal(hold({}), 11_000_000)
  t.equal(quoteOf({ ...emptyPrice, imageNano: 5 }, {}, { count: 4 }).maxNano, 20)
  t.equal(quoteOf({ ...emptyPrice, imageNano: 5, inputPico: 1e6, outputPico: 1e6 }, {}).maxNano, 5)
})

t.test('what was made is charged, and no more', async t => {
  const { chargeFor } = quoteOf({ ...emptyPrice, imageNano: 40_000_000 }, {}, { count: 4 })
  const due = chargeFor({ answer: answerOf(4, { costNano: 1 }), delivered: 3 })
  t.same(due, { amountNano: 120_000_000, usage: { images: 3 }, estimated: false, reportedNano: 1 })
})

t.test('megapixels begun beyond the first have their own price', async t => {
  const prices = [{ size: null, quality: null, imageNano: 30_000_000, furtherMegapixelNano: 15_000_000 }]
  const hold = (size: string) => quoteOf(emptyPrice, { prices }, { size }).maxNano
  t.equal(hold('512x512'), 30_000_000)
  t.equal(hold('1024x1024'), 30_000_000)
  t.equal(hold('1040x1024'), 45_000_000)
  t.equal(hold('2048x2048'), 75_000_000)
})

t.test('a price by the token is held at its worst and settled by what was used', async t => {
  const price = { ...emptyPrice, inputPico: 5_000_000, outputPico: 40_000_000 }
  const tokens = [{ size: null, quality: 'low', tokens: 400 }, { size: null, quality: null, tokens: 6240 }]
  const asked = { count: 2, prompt: 'Füchse' }
  const { maxNano, chargeFor } = quoteOf(price, { tokens }, asked)
  t.equal(maxNano, 2 * ((7 + 64) * 5000 + 6240 * 40_000))
  const low = quoteOf(price, { tokens }, { ...asked, quality: 'low' })
  t.equal(low.maxNano, 2 * ((7 + 64) * 5000 + 400 * 40_000))
  const usage = { inputText: 10, inputImage: 0, output: 2112, outputText: 0 }
  t.same(chargeFor({ answer: answerOf(2, { usage }), delivered: 2 }), {
    amountNano: 10 * 5000 + 2112 * 40_000,
    usage: { images: 2, prompt: 10, completion: 2112 },
    estimated: false
  })
  const half = chargeFor({ answer: answerOf(2, { usage }), delivered: 1 })
  t.equal(half.amountNano, (10 * 5000 + 2112 * 40_000) / 2, 'what was lost is not charged')
  const reported = chargeFor({ answer: answerOf(2, { costNano: 77 }), delivered: 2 })
  t.match(reported, { amountNano: 77, estimated: false })
  t.match(chargeFor({ answer: answerOf(1), delivered: 1 }), { amountNano: (7 + 64) * 5000 + 6240 * 40_000, estimated: true }, 'never nothing')
})

t.test('no number of a provider has a cost that cannot be booked', async t => {
  const most = 2 ** 32
  const { chargeFor } = quoteOf({ ...emptyPrice, inputPico: 9e12, outputPico: 9e12 }, {})
  const usage = { inputText: most, inputImage: most, output: most, outputText: most }
  for (const answer of [answerOf(3, { usage }), answerOf(3, { costNano: Number.MAX_SAFE_INTEGER })]) {
    for (const delivered of [1, 3]) {
      const { amountNano, estimated } = chargeFor({ answer, delivered })
      t.ok(Number.isSafeInteger(amountNano) && amountNano > 0, String(amountNano))
      t.equal(estimated, false)
    }
  }
})

t.test('words beside an image have the price of words', async t => {
  const price = { ...emptyPrice, inputPico: 2_000_000, outputPico: 120_000_000 }
  const tokens = [{ size: null, quality: null, tokens: 2000 }]
  const { maxNano, chargeFor } = quoteOf(price, { tokens, textOutputPico: 12_000_000 })
  const usage = { inputText: 5, inputImage: 0, output: 1120, outputText: 300 }
  const { amountNano } = chargeFor({ answer: answerOf(1, { usage }), delivered: 1 })
  t.equal(amountNano, 5 * 2000 + 1120 * 120_000 + 300 * 12_000)
  t.ok(maxNano > amountNano)
})

t.test('without a price nothing is sold, and what is free says so', async t => {
  for (const price of [null, emptyPrice, { ...emptyPrice, outputPico: 1 }]) {
    t.match(thrown(() => quoteOf(price, {})), { status: 400, code: 'model_not_priced', message: /price: { image: … }/ })
  }
  t.equal(quoteOf({ ...emptyPrice, imageNano: 0 }, {}).maxNano, 0)
})

t.test('the hold covers every published price of the catalogue\'s models', async t => {
  // USD per image at OpenAI: size, quality, price.
  const published: [string, string, string, number][] = [
    ['azure/gpt-image-1', '1024x1024', 'low', 0.011], ['azure/gpt-image-1', '1024x1536', 'low', 0.016],
    ['azure/gpt-image-1', '1024x1024', 'medium', 0.042], ['azure/gpt-image-1', '1536x1024', 'medium', 0.063],
    ['azure/gpt-image-1', '1024x1024', 'high', 0.167], ['azure/gpt-image-1', '1536x1024', 'high', 0.25],
    ['gpt-image-1.5', '1536x1024', 'high', 0.2], ['gpt-image-1-mini', '1024x1536', 'high', 0.052],
    ['gpt-image-2', '1024x1024', 'high', 0.211], ['gpt-image-2', '1024x1024', 'medium', 0.053]
  ]
  for (const [name, size, quality, usd] of published) {
    const [provider, upstream = ''] = name.includes('/') ? name.split('/') : ['openai', name]
    const model = catalogueModel(provider ?? '', upstream)
    const { maxNano } = quoteOf(model?.price ?? null, model?.images ?? {}, { size, quality })
    t.ok(maxNano >= usd * 0.98e9, `${name} ${size} ${quality} holds ${maxNano}`)
  }
})
