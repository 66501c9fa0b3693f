import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { baseUrlOf } from '../../services/http/base-url.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The base URL of the API for the client, e.g. `https://gateway.example.com/v1`. */
    baseUrl (): string
  }
}

/** Provides the base URL: the configured one, else by the host of the request. */
export default fp<{ publicBaseUrl: string | null }>(async (app, { publicBaseUrl }) => {
  app.decorateRequest('baseUrl', function (this: FastifyRequest) {
    const { protocol, host, socket } = this
    const { localAddress: address, localPort: port } = socket
    return baseUrlOf({ publicBaseUrl, protocol, host, address, port, prefix: app.prefix })
  })
}, { name: 'base-url' })
