import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import fp from 'fastify-plugin'
import { createRequestRecord, type RequestRecord } from '../../services/requests/request-record.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The record of the request, filled in by use cases. */
    record: RequestRecord
  }
}

const wellFormed = /^[\w.:-]{1,128}$/
const randomPart = randomBytes(8).toString('hex')
let count = 0

/** The client's `x-request-id` if it has 1–128 characters of `A–Z a–z 0–9 _ . : -`, else a new one. */
export function requestIdOf ({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  if (typeof given === 'string' && wellFormed.test(given)) return given
  count += 1
  return `req_${randomPart}${count.toString(16).padStart(8, '0')}`
}

/** Gives each request its record, and sends its id with every response. */
export default fp<{ keepsWords?: boolean }>(async (app, { keepsWords = true }) => {
  app.decorateRequest('record')
  app.addHook('onRequest', (request, reply, done) => {
    request.record = createRequestRecord(keepsWords)
    reply.header('x-request-id', request.id)
    done()
  })
}, { name: 'request-record' })
