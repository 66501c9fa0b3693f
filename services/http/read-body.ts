import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { BrotliDecompress, Gunzip, ZstdDecompress } from 'node:zlib'
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib'
import { GatewayError, unreadableBody } from '../shared/errors.ts'
import { Deadlines } from '../shared/timers.ts'

/** Limits on reading a body. */
export interface BodyRules {
  /** Most bytes of the body, decoded. */
  limitBytes: number
  /** The longest time without a byte. */
  idleMs: number
  /** Reserves bytes of the node's limit on bodies. Throws GatewayError 503 at the limit. */
  take (bytes: number): void
}

const idleTimeouts = new Deadlines()

/** Called once with the error or the body. */
type Done = (error: GatewayError | null, body?: Buffer) => void

type Decoder = Gunzip | BrotliDecompress | ZstdDecompress

/** Content codings by their names in RFC 9110 and RFC 8878. */
const decoders: ReadonlyMap<string, () => Decoder> = new Map<string, () => Decoder>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['br', () => createBrotliDecompress()],
  ['zstd', () => createZstdDecompress()]
])

/** The supported content codings, as in `accept-encoding`. */
const acceptedCodings = 'gzip, br, zstd'

/**
 * Above `freeBytes`, a decoded body may have at most `factor` times the compressed bytes read so far.
 * Requests of coding agents have 9 to 11, the most repetitive schemas of tools 30 (with the best of Brotli).
 * The context windows of most models end before `freeBytes`.
 */
const expansion = { freeBytes: 1024 ** 2, factor: 32 }

/**
 * Reads and decompresses the body of a request; the limit applies to the decompressed bytes. The announced
 * length is reserved at once: if memory is short, some bodies arrive completely instead of all in part.
 */
export function readBody (request: IncomingMessage, rules: BodyRules, done: Done): void {
  const { 'content-encoding': coding = 'identity', 'content-length': length = '0' } = request.headers
  let createDecoder: (() => Decoder) | null
  let announced = Number(length)
  try {
    if (announced > rules.limitBytes) throw bodyTooLarge()
    createDecoder = decoderFor(coding)
    rules.take(announced)
  } catch (error) {
    return done(toGatewayError(error))
  }
  sendContinue(request)
  // Only now: a decoder holds memory of its own until it is destroyed.
  const decoder = createDecoder?.() ?? null
  const chunks: Buffer[] = []
  let received = 0
  const body: Readable = decoder === null ? request : request.pipe(decoder)
  const idle = { slot: -1, dueMs: performance.now() + rules.idleMs, onDeadline: () => end(bodyTooSlow()) }
  idleTimeouts.add(idle)

  function onData (chunk: Buffer): void {
    idle.dueMs = performance.now() + rules.idleMs
    received += chunk.length
    if (received > rules.limitBytes) return end(bodyTooLarge())
    if (decoder !== null && isExpanded(received, decoder.bytesWritten)) return end(bodyTooCompressed())
    if (received > announced) {
      try {
        rules.take(received - announced)
        announced = received
      } catch (error) {
        return end(toGatewayError(error))
      }
    }
    chunks.push(chunk)
  }
  const onEnd = (): void => end(null)
  const onError = (): void => end(GatewayError.invalidRequest(unreadableBody))

  function end (error: GatewayError | null): void {
    idleTimeouts.delete(idle)
    body.off('data', onData).off('end', onEnd).off('error', onError)
    if (decoder !== null) {
      request.off('error', onError).unpipe(decoder)
      // A decoder that is stopped within its input may still fail.
      decoder.on('error', () => {}).destroy()
    }
    if (error === null) done(null, joined(chunks, received))
    else done(error)
  }

  body.on('data', onData).on('end', onEnd).on('error', onError)
  if (decoder !== null) request.on('error', onError)
}

function isExpanded (bytes: number, compressedBytes: number): boolean {
  return bytes > expansion.freeBytes && bytes > expansion.factor * compressedBytes
}

/** Joins the chunks; copies a lone chunk that is a view, because it would keep a larger buffer alive. */
function joined (chunks: readonly Buffer[], length: number): Buffer {
  const [only] = chunks
  const isAlone = only?.length === length && only.buffer.byteLength === length
  return isAlone ? only : Buffer.concat(chunks, length)
}

/** Throws GatewayError 415 for an unknown coding or several ones. */
function decoderFor (coding: string): (() => Decoder) | null {
  const name = coding.trim().toLowerCase()
  if (name === 'identity' || name === '') return null
  const create = decoders.get(name)
  if (create !== undefined) return create
  throw new GatewayError(415, 'invalid_request_error',
    `The request's content encoding is not supported. Supported are: ${acceptedCodings}.`,
    { code: 'unsupported_content_encoding', headers: { 'accept-encoding': acceptedCodings } })
}

const waiting = new WeakMap<IncomingMessage, () => void>()

/** Defers `100 Continue` until the body of the request is read. */
export function deferContinue (request: IncomingMessage, send: () => void): void {
  waiting.set(request, send)
}

function sendContinue (request: IncomingMessage): void {
  if (request.headers.expect !== undefined) waiting.get(request)?.()
}

const toGatewayError = (error: unknown): GatewayError =>
  error instanceof GatewayError ? error : GatewayError.internal(error)

/** 413: the body has more bytes than its route accepts. */
function bodyTooLarge (): GatewayError {
  return new GatewayError(413, 'invalid_request_error', 'The request body is larger than this gateway accepts.',
    { code: 'request_too_large' })
}

/** 413: a decompression bomb. */
function bodyTooCompressed (): GatewayError {
  const message = `The request body has more than ${expansion.factor} times the bytes of its compressed form. ` +
    'Send it without compression.'
  return new GatewayError(413, 'invalid_request_error', message, { code: 'request_too_large' })
}

function bodyTooSlow (): GatewayError {
  return new GatewayError(408, 'invalid_request_error', 'The request did not arrive in time.', { code: 'request_timeout' })
}
