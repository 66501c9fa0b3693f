import t from 'tap'
import { unsupported } from '../../../routes/v1/unsupported.ts'
import { buildGateway } from '../../helpers/gateway.ts'

t.test('the rest of OpenAI\'s API is refused by name, for any body', async t => {
  const { app } = await buildGateway(t)
  for (const path of unsupported) {
    const url = path.replace('{id}', 'id_1')
    const multipart = { 'content-type': 'multipart/form-data; boundary=x' }
    for (const request of [
      { method: 'PATCH', url },
      { method: 'GET', url: `${url}/id_2` },
      { method: 'DELETE', url: `${url}/id_2/cancel` },
      { method: 'POST', url, payload: '{"broken', headers: { 'content-type': 'application/json' } },
      { method: 'POST', url: `${url}?a=b`, payload: '--x--', headers: multipart }
    ] as const) {
      const response = await app.inject(request)
      t.equal(response.statusCode, 404)
      const message = `Tollgate does not serve ${path}.`
      if (path.startsWith('/v1/messages/')) {
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
