import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { errorText } from './error-text.ts'
import { GatewayError } from '../shared/errors.ts'

/**
 * The server option `clientErrorHandler`: responds to invalid or slow HTTP in the JSON shape of every other
 * error, and closes the connection.
 */
export function clientErrorHandler (error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  endWith(socket, responses.get(error.code ?? '') ?? malformed)
}

/** Rejects CONNECT, which is for proxies, and closes the connection. */
export function refuseConnect (socket: Duplex): void {
  endWith(socket.on('error', () => {}), connect)
}

/** Rejects an expectation other than `100-continue`, and closes the connection: a body may follow. */
export function refuseExpectation (response: ServerResponse): void {
  const { status, text } = expectation
  const headers = { 'content-type': contentType, 'content-length': Buffer.byteLength(text), connection: 'close' }
  response.writeHead(status, headers).end(text)
}

/** Limits on reading the rest of a rejected request. */
const lingering = { maxBytes: 64 * 1024 * 1024, maxMs: 5_000 }

/**
 * Sends a response, and reads until the client has closed too: a connection that is closed while the client
 * still writes is reset, and the client never sees the response. Source: RFC 9112 section 9.6.
 */
function endWith (socket: Duplex, { status, reason, text, headers = [] }: RawResponse): void {
  // Node's parser is done with this connection.
  socket.removeAllListeners('data')
  let leftBytes = lingering.maxBytes
  socket.on('data', (chunk: Buffer) => {
    leftBytes -= chunk.length
    if (leftBytes < 0) socket.destroy()
  })
  const timer = setTimeout(() => socket.destroy(), lingering.maxMs)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroy())
  socket.end([
    `HTTP/1.1 ${status} ${reason}`,
    `content-type: ${contentType}`,
    `content-length: ${Buffer.byteLength(text)}`,
    ...headers,
    'connection: close',
    '',
    text
  ].join('\r\n'))
}

const contentType = 'application/json; charset=utf-8'

interface RawResponse { status: number, reason: string, text: string, headers?: string[] }

const malformed = rawResponse(400, 'Bad Request', 'The request is not valid HTTP.', 'bad_request')

const connect: RawResponse = {
  ...rawResponse(405, 'Method Not Allowed', 'This gateway is no proxy: CONNECT is not supported.', 'method_not_supported'),
  headers: ['allow: GET, HEAD, POST, OPTIONS']
}

const expectation = rawResponse(417, 'Expectation Failed',
  'The only expectation supported is 100-continue.', 'expectation_failed')

const responses = new Map<string, RawResponse>([
  ['HPE_HEADER_OVERFLOW', rawResponse(431, 'Request Header Fields Too Large',
    'The request\'s headers are larger than this gateway accepts.', 'headers_too_large')],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', rawResponse(413, 'Payload Too Large',
    'The request\'s chunk extensions are larger than this gateway accepts.', 'request_too_large')],
  ['ERR_HTTP_REQUEST_TIMEOUT', rawResponse(408, 'Request Timeout',
    'The request did not arrive in time.', 'request_timeout')]
])

function rawResponse (status: number, reason: string, message: string, code: string): RawResponse {
  return { status, reason, text: errorText(new GatewayError(status, 'invalid_request_error', message, { code })) }
}
