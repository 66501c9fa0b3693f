import fc from 'fast-check'
import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ModelConfig } from '../../../services/config/catalogue/types.ts'
import { countTokens } from '../../../services/billing/count-tokens.ts'
import { maxCost } from '../../../services/billing/max-cost.ts'
import { promptSize } from '../../../services/billing/prompt-size.ts'
import { tokenCostNano } from '../../../services/billing/token-price.ts'
import { anyCharacter } from '../../helpers/any-character.ts'

const price = { inputPico: 150_000, outputPico: 600_000, cacheReadPico: 75_000, cacheWritePico: 150_000 }
const limits = { contextWindow: 128_000, maxOutput: 16_384 }
const rich = { availableNano: 1e12, unspentNano: 1e12 }

const tokens = { expectedTokens: 4096, usualTokens: 1024 }

function bound (request: Omit<ChatCompletionRequest, 'model'>, more: object = {}) {
  const body = { model: 'm', ...request }
  const bodyBytes = Buffer.byteLength(JSON.stringify(body))
  const prompt = promptSize(body, bodyBytes)
  return maxCost({ request: body, prompt, limits, price, means: rich, ...tokens, ...more })
}

const messages = [{ role: 'user' as const, content: 'Hi' }]

t.test('no text has more tokens than the bound, and no answer costs more than the hold', async () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 200 })
  await fc.assert(fc.asyncProperty(text, fc.nat(5000), fc.integer({ min: 1, max: 4 }),
    async (content, written, n) => {
      const request = { messages: [{ role: 'user' as const, content }], max_tokens: 5000, n }
      const actual = tokenCostNano({ prompt: await countTokens(content) + 8, completion: written * n }, price)
      return bound(request).amountNano >= actual
    }), { numRuns: 100 })
})

t.test('the client\'s own limit counts, but never more than the model can write', async t => {
  const short = bound({ messages, max_tokens: 100 })
  t.equal(short.outputLimit, null)
  const both = bound({ messages, max_completion_tokens: 100, max_tokens: 9000 })
  t.ok(both.amountNano - short.amountNano < 50 * 150, 'more only by the bytes of the longer body')
  const most = bound({ messages, max_tokens: 1_638_400 }).amountNano
  t.equal(bound({ messages, max_tokens: 10_000_000 }).amountNano - most, 150)
  t.equal(bound({ messages, max_tokens: 100, n: 3 }).amountNano - short.amountNano, 6 * 150 + 200 * 600)
})

t.test('without a limit the model\'s own holds for the rich; for others what is expected, if it can be paid', async t => {
  t.equal(bound({ messages }).outputLimit, null)
  const limit = (availableUsd: number, unspentUsd: number, request = {}, expectedTokens = 4096) => {
    const means = { availableNano: availableUsd * 1e9, unspentNano: unspentUsd * 1e9 }
    const dear = { ...price, outputPico: 10_000_000 }
    return bound({ messages, ...request }, { price: dear, means, expectedTokens }).outputLimit
  }
  t.equal(limit(2, 2), null, 'an eighth of what is available is enough for all 16,384 tokens')
  t.equal(limit(1, 1), 12_499)
  t.equal(limit(0.8, 1), 5119, 'less while others hold money')
  t.equal(limit(0.5, 1), 4096, 'but what an answer may need')
  t.equal(limit(0, 1), 4096, 'for which it waits')
  t.equal(limit(0, 1, {}, 9000), 9000)
  t.equal(limit(0.04, 0.04), 1999, 'half of what is left beside the input')
  t.equal(limit(0.02, 0.02), 1024, 'what most answers need, for which the ledger has the money or refuses')
  t.equal(limit(0.02, 0.02, { n: 2 }), 1024)
  t.equal(limit(0, 0), 1024)
})

const unknown = { contextWindow: null, maxOutput: null }

t.test('an unknown model gets no limit, unless the longest answer cannot be paid', async t => {
  const whole = bound({ messages }, { limits: unknown })
  t.match(whole, { outputLimit: null, outputTokens: 131_072 })
  t.ok(whole.amountNano >= 131_072 * 600)
  const poor = { availableNano: 1e7, unspentNano: 1e7 }
  t.equal(bound({ messages }, { limits: unknown, means: poor }).outputLimit, 4096)
  const free = { inputPico: 0, outputPico: 0, cacheReadPico: 0, cacheWritePico: 0 }
  const most = bound({ messages }, { limits: unknown, price: free })
  t.strictSame(most, { amountNano: 0, outputTokens: 131_072, outputLimit: null })
})

t.test('a limit that the gateway sets leaves room for the prompt within the window', async t => {
  const long = [{ role: 'user' as const, content: 'word '.repeat(1200) }]
  const limits = { contextWindow: 8192, maxOutput: null }
  const dear = { ...price, outputPico: 10_000_000 }
  for (let usd = 0.001; usd < 2; usd *= 1.1) {
    const means = { availableNano: usd * 1e9, unspentNano: usd * 1e9 }
    const { outputLimit, outputTokens } = bound({ messages: long }, { limits, price: dear, means })
    t.ok((outputLimit ?? 0) + 1500 <= 8192, `${outputLimit} at $${usd}`)
    t.ok(outputLimit !== null || outputTokens === 8192, 'else the window is the limit, and covered')
  }
  const clamped = bound({ messages: long, max_tokens: 10_000 }, { limits })
  t.ok(clamped.outputLimit !== null && clamped.outputLimit + 1500 <= 8192 && clamped.outputTokens === 8192)
})

t.test('where answers were longer than allowed, the longest is held, and the limit is always sent', async t => {
  const limits = { contextWindow: 128_000, maxOutput: 16_384, ignoresLimit: true }
  t.match(bound({ messages, max_tokens: 10 }, { limits }), { outputTokens: 16_384, outputLimit: null })
  t.match(bound({ messages }, { limits }), { outputTokens: 16_384, outputLimit: 16_384 })
})

t.test('thoughts beyond the limit are held too', async t => {
  const request = { messages, max_tokens: 2000 }
  const { amountNano, outputTokens, outputLimit } = bound(request, { thoughtTokens: 30_000 })
  t.match({ outputTokens, outputLimit }, { outputTokens: 32_000, outputLimit: null })
  t.equal(amountNano - bound(request).amountNano, 30_000 * 600)
})

t.test('an image counts as an image, not as the text that carries it', async t => {
  const url = `data:image/png;base64,${'A'.repeat(4_000_000)}`
  const content = [{ type: 'image_url' as const, image_url: { url } }]
  const { amountNano } = bound({ messages: [{ role: 'user', content }], max_tokens: 1 })
  t.ok(amountNano < 51_000 * 150 + 1000)
})

t.test('text is held as long as it may be, whatever the window is said to be', async t => {
  const content = 'x'.repeat(1_000_000)
  t.ok(bound({ messages: [{ role: 'user', content }], max_tokens: 1 }).amountNano >= 1_000_000 * 150 + 600)
})

t.test('images are held within the window, but never as less than they usually take', async t => {
  const url = `data:image/png;base64,${'A'.repeat(400)}`
  const cost = (images: number, contextWindow: number | null) => {
    const content = Array.from({ length: images }, () => ({ type: 'image_url' as const, image_url: { url } }))
    const limits = { contextWindow, maxOutput: 100 }
    return bound({ messages: [{ role: 'user', content }], max_tokens: 10 }, { limits }).amountNano / 150
  }
  t.ok(cost(10, null) >= 500_000)
  t.ok(cost(10, 128_000) >= 128_000 && cost(10, 128_000) < 129_000)
  t.ok(cost(10, 1000) >= 50_000)
})

const pageOf = (more = '') => `\n1 0 obj <</Type /Page /Parent 2 0 R>> endobj${more}`
const pdfOf = (body: string) =>
  `data:application/pdf;base64,${Buffer.from(`%PDF-1.4\n<</Type /Pages>>${body}`).toString('base64')}`

t.test('a PDF is held by its pages; as all that the model can read where they cannot be counted', async t => {
  const cost = (data: string, contextWindow: number | null = 1_000_000) =>
    contentOf({ type: 'file', file: { file_data: data } }, { limits: { contextWindow, maxOutput: 10 } }) / 150
  t.ok(cost(pdfOf(pageOf())) > 50_000 && cost(pdfOf(pageOf())) < 52_000)
  t.ok(cost(pdfOf(pageOf().repeat(100))) >= 300_000)
  t.ok(cost(pdfOf(pageOf().repeat(100)), 128_000) >= 300_000, 'whatever the window is said to be')
  t.ok(cost(pdfOf(pageOf('\n2 0 obj <</Type /ObjStm>>'))) >= 1_000_000)
  t.ok(cost(pdfOf(pageOf('\n2 0 obj <</Type /ObjStm>>')), 200_000) >= 200_000)
  t.ok(cost(pdfOf('')) >= 1_000_000, 'no page to be seen')
  const office = `data:application/zip;base64,${Buffer.from('PK\x03\x04').toString('base64')}`
  t.ok(cost(office) >= 1_000_000)
})

t.test('the legacy endpoint writes 16 tokens unless told', async t => {
  const legacy = (more: object, lengths: Pick<ModelConfig, 'contextWindow' | 'maxOutput'> = limits) => {
    const request = { model: 'm', prompt: 'Hi', ...more }
    const prompt = promptSize(request, 30)
    return maxCost({ request, prompt, limits: lengths, price, means: rich, ...tokens })
  }
  t.strictSame(legacy({}), { amountNano: 30 * 150 + 16 * 600, outputTokens: 16, outputLimit: 16 })
  t.match(legacy({ max_tokens: 0 }, unknown), { outputTokens: 1 }, 'the least that servers write')
  t.equal(legacy({ max_tokens: 10, best_of: 4, n: 2, prompt: ['a', 'b'] }).amountNano, 4 * 30 * 150 + 80 * 600)
})

const above = { aboveTokens: 1000, inputPico: 300_000, outputPico: 900_000 }
const tiered = { ...price, tiers: [{ ...above, cacheReadPico: 300_000, cacheWritePico: 300_000 }] }

t.test('a prompt that may reach a dearer tier is held at its price', async t => {
  const short = bound({ messages, max_tokens: 10 })
  t.strictSame(bound({ messages, max_tokens: 10 }, { price: tiered }), short)
  const content = 'x'.repeat(1000)
  const long = bound({ messages: [{ role: 'user', content }], max_tokens: 10 }, { price: tiered })
  const plain = bound({ messages: [{ role: 'user', content }], max_tokens: 10 })
  t.equal(long.amountNano, (plain.amountNano - 6000) * 2 + 9000)
})

t.test('whatever tier a request ends in, it costs no more than was held', async () => {
  const pico = fc.integer({ min: 0, max: 2_000_000 })
  const rates = fc.record({
    inputPico: pico, outputPico: pico, cacheReadPico: pico, cacheWritePico: pico, cacheWrite1hPico: pico
  })
  const tier = fc.tuple(rates, fc.integer({ min: 1, max: 3000 }))
    .map(([rate, aboveTokens]) => ({ ...rate, aboveTokens }))
  const tiers = fc.array(tier, { maxLength: 3 })
    .map(list => list.toSorted((one, other) => one.aboveTokens - other.aboveTokens))
  const price = fc.tuple(rates, tiers).map(([base, tiers]) => ({ ...base, tiers }))
  const share = fc.double({ min: 0, max: 1, noNaN: true })
  const lengths = fc.nat(3000)
  const shares = fc.tuple(share, share, share)
  fc.assert(fc.property(price, lengths, shares, fc.nat(100), (price, length, [used, read, long], written) => {
    const request = { messages: [{ role: 'user' as const, content: 'x'.repeat(length) }], max_tokens: 100 }
    const prompt = Math.floor(length * used)
    // A cache is read at less than the input costs, or it would not be used.
    const isCheap = [price, ...price.tiers].every(rate => rate.cacheReadPico <= rate.inputPico)
    const cachedRead = isCheap ? Math.floor(prompt * read) : 0
    const cacheWrite = prompt - cachedRead
    const usage = { prompt, completion: written, cachedRead, cacheWrite }
    const cacheWrite1h = Math.floor(cacheWrite * long)
    return bound(request, { price }).amountNano >= tokenCostNano(usage, price) &&
      bound(request, { price, longCache: true }).amountNano >=
        tokenCostNano({ ...usage, cacheWrite1h }, price)
  }), { numRuns: 150 })
})

t.test('audio is held at its own price, by its length', async t => {
  const spoken = { ...price, audioInputPico: 1_000_000, audioOutputPico: 9_000_000 }
  const data = 'A'.repeat(80_000)
  const content = [{ type: 'input_audio' as const, input_audio: { data, format: 'mp3' as const } }]
  const request = { messages: [{ role: 'user' as const, content }], max_tokens: 10 }
  const { amountNano } = bound(request, { price: spoken })
  t.ok(amountNano >= 10_000 * 1000 && amountNano < 10_300 * 1000, String(amountNano))
  const answer = bound({ messages, max_tokens: 10, modalities: ['text', 'audio'] }, { price: spoken })
  t.ok(answer.amountNano >= 90_000)
})

t.test('what a provider adds by itself is covered: instructions for tools, pages of files', async t => {
  const promptOf = (request: Omit<ChatCompletionRequest, 'model'>, more: object = {}) => {
    const bytes = Buffer.byteLength(JSON.stringify({ model: 'm', ...request }))
    const { amountNano } = bound({ ...request, max_tokens: 1 }, more)
    return (amountNano - 600) / 150 - bytes
  }
  const file = (data: object) => ({ messages: [{ role: 'user' as const, content: [{ type: 'file' as const, file: data }] }] })
  const tools = [{ type: 'function' as const, function: { name: 'f' } }]
  t.ok(promptOf({ messages, tools }) >= promptOf({ messages }) + 1000)
  t.ok(promptOf(file({ file_data: 'data:application/pdf;base64,JVBERi0x' })) >= 50_000)
  const far = file({ file_data: 'https://a/b.pdf' })
  t.ok(promptOf(far) > 127_000, 'all that the model can read')
  t.ok(promptOf(far, { limits: { contextWindow: null, maxOutput: null } }) >= 1_000_000)
})

t.test('a prediction, a search and a video are held as what they may become', async t => {
  const plain = bound({ messages, max_tokens: 10 }).amountNano
  const prediction = { type: 'content' as const, content: 'x'.repeat(100) }
  const longer = JSON.stringify({ prediction }).length - 1
  t.equal(bound({ messages, max_tokens: 10, prediction }).amountNano - plain, longer * 150 + 100 * 600)
  t.equal(bound({ messages, max_tokens: 10 }, { searches: true }).amountNano, 128_000 * 150 + 10 * 600)
  const content = [{ type: 'video_url' as const, video_url: { url: 'https://example.com/film.mp4' } }]
  t.equal(bound({ messages: [{ role: 'user', content }], max_tokens: 10 }).amountNano, 128_000 * 150 + 10 * 600)
  const functions = [{ name: 'f' }]
  t.ok(bound({ messages, max_tokens: 10, functions }).amountNano - plain > 1000 * 150, 'as tools do')
})

const contentOf = (part: object, more: object = {}) => {
  const request = { messages: [{ role: 'user', content: [part] }], max_tokens: 10 } as Omit<ChatCompletionRequest, 'model'>
  return bound(request, more).amountNano
}

t.test('what is called an image and may be a film is held as a film', async t => {
  const window = 128_000 * 150 + 10 * 600
  const image = (url: string) => contentOf({ type: 'image_url', image_url: { url } })
  for (const url of [
    'https://www.youtube.com/watch?v=x', 'https://youtube.com/watch?v=x', 'https://youtu.be/x', 'gs://bucket/film.mp4',
    'https://generativelanguage.googleapis.com/v1beta/files/x', 'data:video/mp4;base64,AAAA', 'DATA:video/mp4;base64,AAAA'
  ]) t.equal(image(url), window, url)
  t.ok(image('https://example.com/a.png') < 51_000 * 150)
  t.ok(image('data:image/png;base64,AAAA') < 51_000 * 150)
  const text = `data:text/plain;base64,${'A'.repeat(60_000)}`
  t.ok(image(text) > 60_000 * 150, 'text in it counts as text')
  t.equal(contentOf({ type: 'file', file: { file_data: 'data:video/mp4;base64,AAAA' } }), window, 'a film in a file')
})

t.test('what may have sound is held at the price of audio', async t => {
  const audio = { price: { ...price, audioInputPico: 300_000 } }
  const rate = (part: object) => contentOf(part, audio) > 1.5 * contentOf(part)
  t.ok(rate({ type: 'input_audio', input_audio: { data: 'A'.repeat(80_000), format: 'wav' } }))
  t.ok(rate({ type: 'video_url', video_url: { url: 'https://example.com/film.mp4' } }))
  t.ok(rate({ type: 'image_url', image_url: { url: 'https://youtu.be/x' } }))
  t.ok(rate({ type: 'file', file: { file_id: 'x' } }))
  t.ok(rate({ type: 'file', file: { file_data: 'data:audio/mp3;base64,AAAA' } }))
  t.notOk(rate({ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0x' } }))
  t.notOk(rate({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }))
})

t.test('an earlier answer with audio is held as what it may have said', async t => {
  const spoken = { role: 'assistant' as const, audio: { id: 'audio_1' } }
  const written = { role: 'assistant' as const, content: 'audio_1' }
  const cost = (message: typeof spoken | typeof written, more: object = {}) =>
    bound({ messages: [message, ...messages], max_tokens: 10 }, more).amountNano
  t.ok(cost(spoken) - cost(written) >= 16_000 * 150)
  const audio = { price: { ...price, audioInputPico: 300_000 } }
  t.ok(cost(spoken, audio) > 1.9 * cost(spoken))
})
