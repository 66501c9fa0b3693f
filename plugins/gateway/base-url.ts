import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { baseUrlOf } from '../../services/http/base-url.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Where the client reaches the API, e.g. `https://gateway.example.com/v1`. */
    baseUrl (): string
  }
}

/** Knows under which address clients reach the gateway: the configured one, else that of their request. */
export default fp<{ publicBaseUrl: string | null }>(async (app, { publicBaseUrl }) => {
  app.decorateRequest('baseUrl', function (this: FastifyRequest) {
    const { protocol, host, socket } = this
    return baseUrlOf({ publicBaseUrl, protocol, host, address: socket.localAddress, port: socket.localPort })
  })
}, { name: 'base-url' })
