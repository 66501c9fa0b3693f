import t from 'tap'
import { buildGateway, configFor, providerAt } from '../../helper.ts'

t.test('ids may contain slashes and colons, raw or percent-encoded', async t => {
  const id = 'meta/llama-3.1:free'
  const { app, headers } = await buildGateway(t, { config: configFor(providerAt('http://127.0.0.1:9/v1'), { id }) })
  const list = await app.inject({ url: '/v1/models', headers })
  t.same(list.json().data.map((model: { id: string }) => model.id), [id])
  for (const url of [`/v1/models/${id}`, `/v1/models/${encodeURIComponent(id)}`, '/v1/models/meta%2fllama-3.1:free']) {
    const answer = await app.inject({ url, headers })
    t.equal(answer.statusCode, 200, url)
    t.match(answer.json(), { id, object: 'model', created: Number, owned_by: String })
  }
})

t.test('an unknown model is a 404', async t => {
  const { app, headers } = await buildGateway(t)
  for (const url of ['/v1/models/nothing', '/v1/models/a%2Fb%2Fc', `/v1/models/${'x'.repeat(600)}`]) {
    const answer = await app.inject({ url, headers })
    t.equal(answer.statusCode, 404, url)
  }
  const { error } = (await app.inject({ url: '/v1/models/nothing', headers })).json()
  t.strictSame(error, {
    message: "The model 'nothing' does not exist", type: 'invalid_request_error', param: 'model', code: 'model_not_found'
  })
})
