import t from 'tap'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { refusal, startUpstream } from '../../servers/upstream.ts'

const words = 'Function tools with reasoning_effort are not supported for gpt-5.6-luna in /v1/chat/completions. ' +
  'Please use /v1/responses instead or set reasoning_effort to \'none\'.'

t.test('a request that a model takes only at its Responses API goes to the next candidate', async t => {
  const [one, other] = [await startUpstream(), await startUpstream()]
  t.teardown(() => Promise.all([one.close(), other.close()]))
  one.always(refusal(400, { message: words, param: 'reasoning_effort', code: null }))
  const providers = [providerAt(one.url, { id: 'one', dialect: 'openai' }), providerAt(other.url, { id: 'other' })]
  const models = providers.flatMap(provider => configFor(provider, {
    id: `${provider.id}-model`, deployments: [{ provider: provider.id, model: 'm', weight: 1, priority: 0 }]
  }).models)
  const gateway = await startGateway(t, { config: { ...configFor(providerAt(one.url)), providers, models } })
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
  const post = (more: object) => fetch(`${gateway.url}/chat/completions`, {
    method: 'POST',
    headers: gateway.headers,
    body: JSON.stringify({ model: 'one-model', messages: [{ role: 'user', content: 'Hi' }], tools, ...more })
  })
  const alone = await post({})
  t.equal(alone.status, 400)
  t.match(await alone.json(), { error: { message: /use \/v1\/responses/ } })
  const both = await post({ fallbacks: ['other-model'] })
  t.equal(both.status, 200, 'a fallback')
  t.equal(both.headers.get('x-tollgate-attempts'), '2')
})
