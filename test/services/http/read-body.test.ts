import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, constants, createGunzip, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { readBody } from '../../../services/http/read-body.ts'

/** A server that sends back the body that it has read. */
async function startEcho (t: Test, limitBytes: number) {
  let takenBytes = 0
  const take = (bytes: number): void => { takenBytes += bytes }
  const server = createServer((request, response) => {
    readBody(request, { limitBytes, idleMs: 5_000, take }, (error, body) => {
      response.writeHead(error?.status ?? 200).end(error?.message ?? body)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return async (coding: string, body: Buffer<ArrayBuffer>) => {
    takenBytes = 0
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST', headers: { 'content-encoding': coding }, body
    })
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()), takenBytes }
  }
}

/** How many bytes the buffer has that a decoder writes its first bytes to. */
async function poolBytes (): Promise<number> {
  const decoder = createGunzip()
  decoder.end(gzipSync('any'))
  const [chunk]: Buffer[] = await decoder.toArray()
  return chunk?.buffer.byteLength ?? 0
}

t.test('a body is whole whatever the buffers that it comes in', async t => {
  const send = await startEcho(t, 1e6)
  const pool = await poolBytes()
  for (const length of [0, 1, 16_384, 65_536, pool, 2 * pool]) {
    const text = Buffer.from(Array.from({ length }, (_, i) => 32 + i % 64))
    for (const [coding, body] of [['identity', text], ['gzip', gzipSync(text)]] as const) {
      const { status, bytes } = await send(coding, body)
      t.equal(status, 200)
      t.ok(text.equals(bytes), `${length} bytes, ${coding}`)
    }
  }
})

const mebibyte = 1024 ** 2
/** About four times as long as its compressed form. */
const conversation = Buffer.from(Array.from({ length: 8_000 }, (_, at) =>
  `{"role":"user","content":"${randomBytes(24).toString('hex')} ${'and so on '.repeat(10)}${at}"}`).join())

t.test('a long body that is compressed far more than any conversation is cut early', async t => {
  const send = await startEcho(t, 32 * mebibyte)
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
  const brotli = (body: Buffer) => brotliCompressSync(body, quality)
  for (const [coding, compress] of [['gzip', gzipSync], ['br', brotli], ['zstd', zstdCompressSync]] as const) {
    const short = await send(coding, compress(Buffer.alloc(mebibyte, ' ')))
    t.match([short.status, short.bytes.length], [200, mebibyte], `${coding}: up to 1 MiB it may be anything`)
    const long = await send(coding, compress(conversation))
    t.ok(conversation.length > mebibyte && long.bytes.equals(conversation), `${coding}: a conversation is not refused`)
    const mixed = Buffer.concat([conversation, Buffer.alloc(2 * mebibyte, ' ')])
    t.equal((await send(coding, compress(mixed))).status, 200, `${coding}: nor one with a repetitive part`)
    const bomb = await send(coding, compress(Buffer.alloc(30 * mebibyte, ' ')))
    t.match([bomb.status, bomb.bytes.toString('utf8', 0, 200)], [413, /more than 32 times/], `${coding}: a bomb`)
    t.ok(bomb.takenBytes < 2 * mebibyte, `${coding}: ${bomb.takenBytes} bytes of the bomb were decoded`)
  }
})
