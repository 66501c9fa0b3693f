import sharp from 'sharp'
import t from 'tap'
import { generateSandboxImages } from '../../../../services/providers/sandbox/images.ts'
import type { ImageCall } from '../../../../services/providers/provider-image.ts'
import { failureOf } from '../../../servers/image-server.ts'

const size = { width: 96, height: 64 }

async function make (prompt: string, more: Record<string, unknown> = {}, call: Partial<ImageCall> = {}) {
  const { signal } = new AbortController()
  const request = { model: 'sandbox-image', prompt, ...more }
  return await generateSandboxImages({ request, model: 'sandbox-image', count: 1, size, quality: null, requestId: 'r', signal, ...call })
}

async function bytesOf (...given: Parameters<typeof make>) {
  return (await make(...given)).images.flatMap(image => 'bytes' in image ? [Buffer.from(image.bytes)] : [])
}

t.test('generates images of the requested size and format', async t => {
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const [bytes] = await bytesOf('A fox', { output_format: format })
    t.match(await sharp(bytes).metadata(), { ...size, format })
  }
  const [square] = await bytesOf('A fox', {}, { size: null })
  t.match(await sharp(square).metadata(), { width: 1024, height: 1024, format: 'png' })
})

t.test('is deterministic, and varies by index and prompt', async t => {
  const [first, second] = await bytesOf('A fox', {}, { count: 2 })
  t.same((await bytesOf('A fox', {}, { count: 2 }))[1], second)
  t.notSame(first, second)
  t.notSame((await bytesOf('A dog'))[0], first)
})

t.test('takes any prompt', async t => {
  for (const prompt of ['</svg><script>alert(1)</script>', '\u0000\u0007 bell', 'x'.repeat(32_000), ' ', '']) {
    t.equal((await bytesOf(prompt)).length, 1, JSON.stringify(prompt.slice(0, 30)))
  }
})

t.test('obeys directives, and stops when aborted', async t => {
  t.match(await failureOf(make('sandbox:error moderated')), { kind: 'moderated' })
  t.match(await failureOf(make('sandbox:error mid-stream')), { kind: 'network' })
  const leaving = new AbortController()
  const making = make('sandbox:delay 60000', {}, { signal: leaving.signal })
  leaving.abort()
  t.match(await failureOf(making), { kind: 'aborted' })
})
