import { writeSync } from 'node:fs'
import pino, { type Logger, type SerializedError } from 'pino'
import { loggable } from '../../shared/redact.ts'

/** Lines are written in batches: a write per line would cost as much as the line itself. */
const buffer = { chars: 16_000, flushMs: 100 }
/**
 * Limits for a slow reader: further lines are lost. When the process ends, pending lines are lost if the
 * reader accepts nothing for `endMs`.
 */
const backlog = { bytes: 16 * 1024 * 1024, endMs: 1000 }
/** PIPE_BUF of Linux; source: pipe(7). */
const pipePieceBytes = 4096
/** Pause after a write to a full pipe. */
const retryMs = 10

/** Writes errors to the log; with `keepsWords`, including providers' redacted messages. */
export function errorSerializer (keepsWords: boolean): (error: Error) => SerializedError {
  // Anything can be thrown.
  return error => pino.stdSerializers.err(error instanceof Error ? loggable(error, keepsWords) : error)
}

/**
 * Creates the log: JSON lines on standard output, or readable ones on a terminal. With `sharesOutput`, other
 * processes write there too, so no write is larger than an atomic write to a pipe.
 */
export async function createLogger (level: string, { sharesOutput = false } = {}): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.epochTime }
  if (process.stdout.isTTY) {
    const { readableLine } = await import('./readable-line.ts')
    return pino(options, { write: line => { process.stdout.write(readableLine(line)) } })
  }
  const maxChars = sharesOutput ? pipePieceBytes : buffer.chars
  let lines = ''
  let isEnding = false
  let progress = { leftBytes: Infinity, atMs: 0 }
  // Runs before pino's listener, which would wait for the reader forever.
  process.once('exit', () => {
    isEnding = true
    try {
      destination.flushSync()
      // The destination would retry forever to write to a closed pipe.
      writeNow(lines)
    } catch {
      destination.destroy()
    }
  })
  const destination = pino.destination({
    fd: 1,
    sync: false,
    maxLength: backlog.bytes,
    ...sharesOutput && { maxWrite: pipePieceBytes },
    retryEAGAIN (_error, writing, waiting) {
      const nowMs = performance.now()
      if (writing + waiting !== progress.leftBytes) progress = { leftBytes: writing + waiting, atMs: nowMs }
      return !isEnding || nowMs < progress.atMs + backlog.endMs
    }
  })
  // Collected here, because the destination would measure its whole buffer for each line.
  function write (line: string): void {
    if (lines.length + line.length > maxChars) handOver()
    lines += line
  }
  function handOver (): void {
    if (lines !== '') destination.write(lines)
    lines = ''
  }
  setInterval(handOver, buffer.flushMs).unref()
  return pino(options, { write })
}

/** Writes to standard output as long as the reader accepts data. Throws when it stops. */
function writeNow (text: string): void {
  let left = Buffer.from(text)
  let progressMs = performance.now()
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left))
      progressMs = performance.now()
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
      if (!isFull || performance.now() > progressMs + backlog.endMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
    }
  }
}
