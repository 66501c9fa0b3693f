import Fastify from 'fastify'
import { Pool } from 'undici'

// A minimal relay on Fastify, without keys, money, limits or a log, to compare with the bare relay:
// npm run bench -- json --subject bench/plain-fastify.ts

const { UPSTREAM_URL = '', PORT = '0' } = process.env
const pool = new Pool(new URL(UPSTREAM_URL).origin)
const headers = { 'content-type': 'application/json', authorization: 'Bearer bare' }

const app = Fastify()
app.post<{ Body: { stream?: boolean } }>('/v1/chat/completions', async ({ url, body }, reply) => {
  const answer = await pool.request({ method: 'POST', path: url, headers, body: JSON.stringify(body) })
  reply.code(answer.statusCode)
  if (body.stream === true) return await reply.type('text/event-stream').send(answer.body)
  return await answer.body.json()
})
console.log(`${await app.listen({ port: Number(PORT), host: '127.0.0.1' })}/v1`)
