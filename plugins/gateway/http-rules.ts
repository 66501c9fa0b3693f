import fp from 'fastify-plugin'
import { GatewayError } from '../../services/shared/errors.ts'

/**
 * The rules of RFC 9112 for requests that Node.js leaves to the server: one Host header, and valid transfer
 * codings. Errors have the JSON shape of all others.
 */
export default fp(async app => {
  app.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request
    const hosts = countHosts(raw.rawHeaders)
    if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1')) return done(badHost())
    const coding = raw.headers['transfer-encoding']
    if (coding !== undefined && coding.toLowerCase() !== 'chunked') return done(unknownCoding())
    done()
  })
}, { name: 'http-rules', dependencies: ['errors'] })

/** Names and values alternate. Node.js keeps only the first of several. */
function countHosts (headers: readonly string[]): number {
  let count = 0
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

function badHost (): GatewayError {
  return GatewayError.invalidRequest('The request must have exactly one Host header.',
    { code: 'invalid_host', headers: { connection: 'close' } })
}

function unknownCoding (): GatewayError {
  return new GatewayError(501, 'invalid_request_error', 'The only transfer coding supported is chunked.',
    { code: 'unsupported_transfer_coding', headers: { connection: 'close' } })
}
