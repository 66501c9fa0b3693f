import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGunzip, gzipSync } from 'node:zlib'
import t from 'tap'
import { readBody } from '../../../services/http/read-body.ts'

/** How many bytes the buffer has that a decoder writes its first bytes to. */
async function poolBytes (): Promise<number> {
  const decoder = createGunzip()
  decoder.end(gzipSync('any'))
  const [chunk]: Buffer[] = await decoder.toArray()
  return chunk?.buffer.byteLength ?? 0
}

t.test('a body is whole whatever the buffers that it comes in', async t => {
  const server = createServer((request, response) => {
    readBody(request, { limitBytes: 1e6, idleMs: 5_000, take () {} }, (error, body) => {
      response.writeHead(error?.status ?? 200).end(body)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const pool = await poolBytes()
  for (const length of [0, 1, 16_384, 65_536, pool, 2 * pool]) {
    const text = Buffer.from(Array.from({ length }, (_, i) => 32 + i % 64))
    for (const [coding, bytes] of [['identity', text], ['gzip', gzipSync(text)]] as const) {
      const response = await fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST', headers: { 'content-encoding': coding }, body: bytes
      })
      t.equal(response.status, 200)
      t.ok(text.equals(await response.bytes()), `${length} bytes, ${coding}`)
    }
  }
})
