import Fastify from 'fastify'
import t from 'tap'
import errors from '../../../plugins/http/errors.ts'
import trace from '../../../plugins/http/trace.ts'
import refuseUnsupported, { unsupported } from '../../../routes/v1/unsupported.ts'

t.test('the rest of OpenAI\'s API is refused by name, for any method and any body', async t => {
  const app = Fastify()
  await app.register(trace)
  await app.register(errors)
  await app.register(refuseUnsupported, { prefix: '/v1' })
  const paths = Object.entries(unsupported).flatMap(([start, names]) => names.map(name => start + name))
  for (const path of paths) {
    const multipart = { 'content-type': 'multipart/form-data; boundary=x' }
    for (const request of [
      { method: 'GET', url: `/v1${path}` },
      { method: 'DELETE', url: `/v1${path}/id_1/cancel` },
      { method: 'POST', url: `/v1${path}`, payload: '{"broken', headers: { 'content-type': 'application/json' } },
      { method: 'POST', url: `/v1${path}?a=b`, payload: '--x--', headers: multipart }
    ] as const) {
      const response = await app.inject(request)
      t.equal(response.statusCode, 404)
      const message = `Tollgate does not serve /v1${path}.`
      if (path.startsWith('/messages/')) {
        t.match(response.json(), { type: 'error', error: { type: 'not_found_error', message } })
        continue
      }
      t.strictSame(response.json(), {
        error: {
          message,
          type: 'invalid_request_error',
          param: null,
          code: 'unsupported_endpoint'
        }
      })
    }
  }
  t.equal((await app.inject({ url: '/v1/embeddingsx' })).json().error.code, 'unknown_url')
})
