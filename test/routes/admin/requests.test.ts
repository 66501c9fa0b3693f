import t from 'tap'
import { request } from 'undici'
import { buildAdmin } from './helper.ts'

t.test('requests are summed up by key, model and day', async t => {
  const { app, key, ask } = await buildAdmin(t)
  const headers = { authorization: `Bearer ${key}` }
  const payload = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] }
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const send = (body: object) => request(`${url}/v1/chat/completions`, {
    method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body)
  })
  const answer = await send(payload)
  const { usage } = await answer.body.json() as { usage: { prompt_tokens: number } }
  await (await send({ ...payload, model: 'nobody' })).body.dump()
  const shown = await ask('GET', '/request-totals?by=key,model')
  const found = shown.body.data.find(({ model }: { model: string }) => model === 'sandbox-chat')
  t.match(found, {
    object: 'request_summary',
    requests: 1,
    failed_requests: 0,
    error_rate: 0,
    day: null,
    prompt_tokens: usage.prompt_tokens,
    average_ms: Number
  })
  t.ok(Math.abs(found.cost_usd - Number(answer.headers['x-tollgate-cost'])) < 1e-9)
  t.match(await ask('GET', '/request-totals?by='), { status: 400, body: { error: { param: 'by' } } })
  t.match((await ask('GET', `/request-totals?by=day&key=${found.key}`)).body.data,
    [{ day: new Date().toISOString().slice(0, 10), requests: 2, refused_requests: 1 }])
  t.equal((await app.inject({ url: '/admin/requests', headers })).statusCode, 401)
})
