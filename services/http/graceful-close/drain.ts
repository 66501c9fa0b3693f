import { Readable } from 'node:stream'

/** Limits on reading the rest of a rejected upload. */
export interface DrainLimits { maxBytes: number, maxMs: number }

/**
 * A stream that sends the complete response at once and stays open until the upload has ended or a limit is
 * reached: a connection that is closed while the client still writes is reset, and the client never sees the
 * response.
 */
export function respondThenDrain (
  response: string, upload: Readable, limits: DrainLimits = { maxBytes: 256 * 1024 * 1024, maxMs: 30_000 }
): Readable {
  return Readable.from(respondAndWait(response, upload, limits), { objectMode: false })
}

async function * respondAndWait (
  response: string, upload: Readable, limits: DrainLimits
): AsyncGenerator<Buffer> {
  yield Buffer.from(response)
  let leftBytes = limits.maxBytes
  const timer = setTimeout(() => upload.destroy(), limits.maxMs)
  try {
    for await (const chunk of upload.iterator({ destroyOnReturn: false })) {
      leftBytes -= Buffer.byteLength(chunk)
      if (leftBytes < 0) return
    }
  } catch {
    // The client has left or took too long: it has its response, and the connection is closed either way.
  } finally {
    clearTimeout(timer)
  }
}
