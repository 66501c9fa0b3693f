import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import fp from 'fastify-plugin'
import { deferContinue } from '../../services/http/read-body.ts'
import { refuseConnect, refuseExpectation } from '../../services/http/client-errors.ts'

/**
 * The rules of RFC 9110 that hold for a whole server: `100 Continue` only for a body that will be read, no
 * other expectation, and no CONNECT.
 */
export default fp(async ({ server }) => {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    deferContinue(request, () => response.writeContinue())
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => refuseExpectation(response))
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => refuseConnect(socket))
}, { name: 'expectations' })
