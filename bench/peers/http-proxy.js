import httpProxy from '@fastify/http-proxy'
import fastify from 'fastify'

// A proxy by @fastify/http-proxy, without handlers. Runs in a folder in which its packages are installed.

const { UPSTREAM_URL = '', PORT = '0' } = process.env
const app = fastify()
app.register(httpProxy, { upstream: new URL(UPSTREAM_URL).origin, prefix: '/v1', rewritePrefix: '/v1' })
console.log(`${await app.listen({ port: Number(PORT), host: '127.0.0.1' })}/v1`)
