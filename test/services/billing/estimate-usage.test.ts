import t from 'tap'
import { countTokens } from '../../../services/billing/count-tokens.ts'
import type { UserPart } from '../../../schemas/openai/chat-messages.ts'
import { estimateUsage, estimateWithin } from '../../../services/billing/estimate-usage.ts'
import { createReport, recordUsage, type Usage } from '../../../services/providers/report.ts'
import { processorMs } from '../../helpers/processor-time.ts'

t.test('tokens are counted by a real tokenizer', async t => {
  t.equal(await countTokens(''), 0)
  t.equal(await countTokens('Hello, world!'), 4)
  t.equal(await countTokens('<|endoftext|>') > 1, true, 'a control token in a text is text')
})

t.test('a long text, or a very long word, takes no long time', async t => {
  const startedMs = processorMs()
  const tokens = await countTokens('a'.repeat(1_000_000))
  t.ok(tokens > 50_000 && tokens < 1_000_000, String(tokens))
  t.ok(processorMs() - startedMs < 2000)
})

function reportOf (text: string, usage: Usage | null = null) {
  const report = { ...createReport(), usage }
  report.delivered.takeText(text)
  return report
}

const messages = [{ role: 'user' as const, content: 'Hello, world!' }]

t.test('an estimate has the prompt, the tools and what was delivered', async t => {
  const plain = await estimateUsage({ model: 'm', messages }, reportOf('Hello, world!'))
  t.strictSame(plain, { prompt: 8, completion: 4 })
  const tools = [{ type: 'function' as const, function: { name: 'get_weather' } }]
  t.ok((await estimateUsage({ model: 'm', messages, tools }, reportOf(''))).prompt > 8)
  const tokens = await estimateUsage({ model: 'm', prompt: [[1, 2], [3]] }, reportOf(''))
  t.strictSame(tokens, { prompt: 3, completion: 0 })
})

t.test('what the provider has counted is kept, and only the text after it is estimated', async t => {
  const request = { model: 'm', messages }
  const counted = { prompt: 190_000, completion: 1, cachedRead: 100 }
  const start = await estimateUsage(request, reportOf('Hello, world!', counted))
  t.strictSame(start, { ...counted, completion: 4 }, 'a count before the text does not cover it')
  const report = reportOf('Hello, world!')
  recordUsage(report, { prompt: 7, completion: 500 }, true)
  t.strictSame(await estimateUsage(request, report), { prompt: 7, completion: 500 })
  report.delivered.takeText('Hello, world!')
  t.strictSame(await estimateUsage(request, report), { prompt: 7, completion: 504 })
  t.strictSame(await estimateUsage(request, reportOf('', { prompt: 0, completion: 0 })), { prompt: 0, completion: 0 })
})

t.test('bounds apply to what is estimated, not to what the provider has counted', async t => {
  const request = { model: 'm', messages, n: 2 }
  const bounds = { contextWindow: 4 }
  const within = (report: ReturnType<typeof reportOf>) => estimateWithin(request, report, bounds, 1)
  t.strictSame(await within(reportOf('Hello, world!')), { prompt: 4, completion: 2 })
  t.strictSame(await within(reportOf('Hello, world!', { prompt: 7, completion: 1 })), { prompt: 7, completion: 2 })
  t.strictSame(await within(reportOf('Hello, world!', { prompt: 7, completion: 500 })), { prompt: 7, completion: 500 })
})

t.test('long answers are extrapolated in bounded memory, whatever the pieces', async t => {
  const sentence = 'The quick brown fox jumps over the lazy dog — 日本語, "quoted".\n'
  const each = await countTokens(sentence)
  for (const pieces of [1, 20_000]) {
    const report = reportOf('')
    for (let i = 0; i < pieces; i++) report.delivered.takeText(sentence.repeat(20_000 / pieces))
    const { completion } = await estimateUsage({ model: 'm', messages }, report)
    t.ok(Math.abs(completion / (each * 20_000) - 1) < 0.03, `${completion} of ${each * 20_000} tokens`)
    t.ok(report.delivered.text.length <= 64 * 1024)
    t.ok(report.delivered.text.startsWith(sentence), 'and the text is not left as JSON')
  }
})

t.test('generated images and speech take more than their text', async t => {
  const request = { model: 'm', messages }
  const drawn = reportOf('')
  drawn.delivered.takeMedia(2, 0)
  t.notOk(drawn.delivered.isEmpty)
  t.strictSame(await estimateUsage(request, drawn), { prompt: 8, completion: 2580 })
  const spoken = reportOf('Hello, world!')
  spoken.delivered.takeMedia(0, 13)
  t.strictSame(await estimateUsage(request, spoken), { prompt: 8, completion: 24, audioOutput: 20 })
})

const base64 = (bytes: Buffer | string) => Buffer.from(bytes).toString('base64')

async function partTokens (part: UserPart, model = 'm'): Promise<number> {
  const request = { model, messages: [{ role: 'user' as const, content: [part] }] }
  return (await estimateUsage(request, reportOf(''))).prompt - 4
}

const file = (data: Buffer | string): UserPart =>
  ({ type: 'file', file: { file_data: `data:application/octet-stream;base64,${base64(data)}` } })

t.test('a file counts by its bytes: text as text, a PDF by its pages', async t => {
  const words = 'every good boy deserves fudge '
  const one = await partTokens(file(words.repeat(1000)))
  t.equal(one, await countTokens(words.repeat(1000)))
  t.ok(Math.abs(await partTokens(file(words.repeat(20_000))) / one - 20) < 0.5)
  const pdf = (pages: number) => `%PDF-1.4\n${'<< /Type /Page /Parent 1 0 R >>\n'.repeat(pages)}<< /Type /Pages >>`
  t.equal(await partTokens(file(pdf(3))), 3 * 2250)
  t.equal(await partTokens(file(pdf(84))), 84 * 2250)
  const scanned = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(990_000, 0xfe)])
  t.equal(await partTokens(file(scanned)), 20 * 2250, 'or by its length, where they are compressed')
  t.equal(await partTokens(file(Buffer.alloc(40_000, 0xfe))), 10_000)
  t.equal(await partTokens({ type: 'file', file: { file_data: 'https://example.com/a.pdf' } }), 2000)
  t.equal(await partTokens({ type: 'file', file: { file_id: 'file-1' } }), 2000)
})

t.test('an image counts by its size, a recording by its length', async t => {
  function png (width: number, height: number): UserPart {
    const head = Buffer.from('89504e470d0a1a0a0000000d494844520000000000000000080600000000000000', 'hex')
    head.writeUInt32BE(width, 16)
    head.writeUInt32BE(height, 20)
    return { type: 'image_url', image_url: { url: `data:image/png;base64,${base64(head)}` } }
  }
  t.equal(await partTokens(png(560, 560)), 400)
  t.equal(await partTokens(png(8000, 8000)), 1568)
  t.equal(await partTokens(png(1, 1)), 85)
  t.equal(await partTokens({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }), 1000)
  t.equal(await partTokens({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }), 1000)
  for (const [model, tokens] of [
    ['gpt-4o', 765], ['gpt-4o-mini-2024-07-18', 25_501], ['o3', 675], ['gpt-5-mini', 1229], ['gpt-4.1-nano', 2520]
  ] as const) t.equal(await partTokens(png(1024, 1024), model), tokens, model)
  t.equal(await partTokens(png(2048, 4096), 'gpt-4o'), 1105)
  const low = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png', detail: 'low' as const } }
  t.equal(await partTokens(low), 85)
  const wav = Buffer.alloc(44 + 10 * 32_000)
  wav.writeUInt32LE(32_000, 28)
  const data = base64(wav)
  const seconds = await partTokens({ type: 'input_audio', input_audio: { data, format: 'wav' } })
  t.equal(seconds, 201, 'ten seconds and the header')
  t.equal(await partTokens({ type: 'input_audio', input_audio: { data: base64(Buffer.alloc(160_000)), format: 'mp3' } }), 200)
  const video = `data:video/mp4;base64,${base64(Buffer.alloc(1_250_000))}`
  t.ok(Math.abs(await partTokens({ type: 'video_url', video_url: { url: video } }) - 2900) < 2)
})

t.test('earlier calls of tools and the schema of the answer count too', async t => {
  const call = { id: 'c', type: 'function' as const, function: { name: 'f', arguments: 'a '.repeat(500) } }
  const asked = [...messages, { role: 'assistant' as const, tool_calls: [call] }]
  t.ok((await estimateUsage({ model: 'm', messages: asked }, reportOf(''))).prompt > 500)
  const schema = { type: 'object', description: 'a '.repeat(500) }
  const format = { type: 'json_schema' as const, json_schema: { name: 'x', schema } }
  t.ok((await estimateUsage({ model: 'm', messages, response_format: format }, reportOf(''))).prompt > 500)
})
