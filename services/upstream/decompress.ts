import { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { UpstreamError } from '../shared/errors.ts'
import type { Exchange, ChunkSink } from './exchange.ts'

const decoders: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress
}

/**
 * The same answer with its body decoded. Nothing here asks for compression, but some servers send it all the
 * same.
 */
export function decompressed (exchange: Exchange): Exchange {
  const encoding = exchange.headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return exchange
  const decoder = typeof encoding === 'string' ? decoders[encoding.toLowerCase()] : undefined
  if (decoder === undefined) {
    exchange.cancel()
    throw new UpstreamError('bad_reply', 'yes', `The provider used the content encoding ${String(encoding)}.`)
  }
  const chunks = () => decode(exchange, decoder())
  let goOn: (() => void) | null = null
  return {
    status: exchange.status,
    headers: exchange.headers,
    [Symbol.asyncIterator]: chunks,
    read: limitBytes => collect(chunks(), limitBytes),
    cancel: () => exchange.cancel(),
    finish: () => exchange.finish(),
    pipeTo: sink => {
      pourInto(sink, chunks(), () => new Promise(resolve => { goOn = resolve }))
    },
    resume: () => goOn?.()
  }
}

async function * decode (exchange: Exchange, decoder: NodeJS.ReadWriteStream): AsyncGenerator<Buffer, void> {
  const source = Readable.from(exchange)
  source.on('error', error => decoder.emit('error', error))
  try {
    for await (const chunk of source.pipe(decoder)) yield Buffer.from(chunk)
  } catch (cause) {
    throw asUpstreamError(cause)
  } finally {
    source.destroy()
  }
}

/** Never rejects: what fails goes to the sink. */
async function pourInto (
  sink: ChunkSink, chunks: AsyncIterable<Buffer>, resumed: () => Promise<void>
): Promise<void> {
  try {
    for await (const chunk of chunks) if (!sink.chunk(chunk)) await resumed()
  } catch (error) {
    return sink.fail(asUpstreamError(error))
  }
  sink.end()
}

function asUpstreamError (cause: unknown): UpstreamError {
  if (cause instanceof UpstreamError) return cause
  return new UpstreamError('bad_reply', 'yes', 'The provider\'s compressed answer is broken.', { cause })
}

async function collect (chunks: AsyncIterable<Buffer>, limitBytes: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > limitBytes) {
      throw new UpstreamError('bad_reply', 'yes', `The answer is longer than ${limitBytes} bytes.`)
    }
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}
