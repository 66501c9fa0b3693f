import type { Duplex } from 'node:stream'
import { errorText } from './error-text.ts'
import { GatewayError } from '../shared/errors.ts'

/**
 * For the server option `clientErrorHandler`: answers what is not HTTP, or not in time, in the JSON shape of
 * every other error, and closes the connection.
 */
export function clientErrorHandler (error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, reason, text } = answers.get(error.code ?? '') ?? malformed
  socket.end([
    `HTTP/1.1 ${status} ${reason}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
    '',
    text
  ].join('\r\n'), () => socket.destroy())
}

interface RawAnswer { status: number, reason: string, text: string }

const malformed = rawAnswer(400, 'Bad Request', 'The request is not valid HTTP.', 'bad_request')

const answers = new Map<string, RawAnswer>([
  ['HPE_HEADER_OVERFLOW', rawAnswer(431, 'Request Header Fields Too Large',
    'The request\'s headers are larger than this gateway accepts.', 'headers_too_large')],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', rawAnswer(413, 'Payload Too Large',
    'The request\'s chunk extensions are larger than this gateway accepts.', 'request_too_large')],
  ['ERR_HTTP_REQUEST_TIMEOUT', rawAnswer(408, 'Request Timeout',
    'The request did not arrive in time.', 'request_timeout')]
])

function rawAnswer (status: number, reason: string, message: string, code: string): RawAnswer {
  return { status, reason, text: errorText(new GatewayError(status, 'invalid_request_error', message, { code })) }
}
