import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker, isMainThread, parentPort } from 'node:worker_threads'
import type { BlobStore } from '../services/media/blob-store.ts'
import { createDiskBlobStore } from '../services/media/disk.ts'
import { createDownloader } from '../services/media/download.ts'
import { createS3BlobStore } from '../services/media/s3.ts'
import { createMediaStore } from '../services/media/store.ts'
import { createUrlSigner } from '../services/media/url-signer.ts'
import { openStore } from '../services/store/open.ts'

/**
 * Copies a large video from a provider to a folder and to a bucket, both on this machine, and prints how long
 * it takes and how much memory the process has: `node bench/large-media.ts --megabytes 2048`. The servers run
 * in another thread of it, so the figures are upper bounds.
 */
const { values } = parseArgs({ options: { megabytes: { type: 'string', default: '2048' } } })
const mebibyte = 1024 * 1024
const bytes = Number(values.megabytes) * mebibyte

/** An endless film, and a bucket that discards what it is sent. */
function serve (): void {
  const piece = Buffer.alloc(mebibyte)
  piece.write('\0\0\0\x18ftypisom', 'latin1')
  const server = createServer((request, response) => {
    if (request.method !== 'GET') {
      request.on('end', () => response.writeHead(200, { etag: '"0"' }).end()).resume()
      return
    }
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': bytes })
    let sent = 0
    const more = (): void => {
      while (sent < bytes) {
        sent += piece.length
        if (!response.write(piece)) return
      }
      response.end()
    }
    response.on('drain', more)
    more()
  })
  server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port))
}

async function measure (name: string, blobs: BlobStore, origin: string): Promise<void> {
  const store = await openStore('sqlite::memory:')
  const signer = createUrlSigner(['a key for this measurement'])
  const media = createMediaStore({ store, blobs, signer, retentionMs: 60_000 })
  const { download, close } = createDownloader({ trustedOrigins: () => new Set([origin]) })
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let peak = before
  const watch = setInterval(() => { peak = Math.max(peak, process.memoryUsage.rss()) }, 20)
  const startMs = performance.now()
  const options = { signal: AbortSignal.timeout(600_000), maxBytes: bytes, provider: 'bench' }
  const stored = await media.put(await download(`${origin}/film.mp4`, options), { kind: 'video', account: 'bench', maxBytes: bytes })
  const seconds = (performance.now() - startMs) / 1000
  clearInterval(watch)
  const mib = (value: number): string => (value / mebibyte).toFixed(0)
  process.stdout.write(`${name}: ${mib(stored.bytes)} MiB in ${seconds.toFixed(1)} s, memory ${mib(before)} MiB, at most ${mib(peak)} MiB\n`)
  await blobs.close()
  await close()
  await store.close()
}

async function main (): Promise<void> {
  const worker = new Worker(import.meta.filename, { argv: process.argv.slice(2) })
  const port = await new Promise<number>(resolve => worker.once('message', resolve))
  const origin = `http://127.0.0.1:${port}`
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-large-'))
  const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' }
  const bucket = { bucket: 'media', prefix: '', region: null, endpoint: origin, credentials }
  try {
    await measure('folder', createDiskBlobStore(folder), origin)
    await rm(folder, { recursive: true })
    await measure('bucket', createS3BlobStore(bucket), origin)
  } finally {
    await rm(folder, { recursive: true, force: true })
    await worker.terminate()
  }
}

if (isMainThread) await main()
else serve()
