import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { Webhook as Judge } from 'standardwebhooks'
import { alertDefaults } from '../../../services/config/defaults.ts'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { startGateway } from '../../helpers/gateway.ts'

t.test('the webhook of the configuration is told of a budget that requests have used up', async t => {
  const secret = `whsec_${randomBytes(24).toString('base64')}`
  const messages: unknown[] = []
  const complete = Promise.withResolvers<void>()
  const receiver = createServer(async (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
    messages.push(new Judge(secret).verify(await text(request), Object.fromEntries(headers)))
    response.end()
    if (messages.length === 4) complete.resolve()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.teardown(() => { receiver.close() })
  const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  const alerts = { ...alertDefaults, webhook: { url: `${origin}/hook`, secret }, lowBalanceNano: 20_000_000_000 }
  const { app, url, key: firstKey } = await startGateway(t, {
    env: { TOLLGATE_TRUSTED_ORIGINS: origin, TOLLGATE_ADMIN_KEY: 'operator-key-of-this-test' },
    config: { ...configFromEnvironment({}), alerts }
  })
  const ask = async (key: string) => {
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 })
    })
    await answer.text()
    return answer
  }
  const { headers } = await ask(firstKey)
  const costNano = Math.round(Number(headers.get('x-tollgate-cost')) * 1e9)
  t.ok(costNano > 0)
  // A budget that the cost of one request exceeds is refused; one of exactly that much may be held in full.
  const { id, key } = await app.keys.create({ account: 'default', label: 'small', budget: { limitNano: 1_000_000_000, period: null } })
  t.equal((await ask(key)).status, 200)
  await app.ledger.flush()
  await app.keys.update(id, { budget: { limitNano: costNano, period: null } })
  await complete.promise
  t.match(messages, [
    { type: 'balance.low', data: { account: 'default', limit_usd: 20 } },
    { type: 'budget.threshold_reached', data: { key: id, key_label: 'small', period: null, threshold_percent: 50 } },
    { data: { threshold_percent: 80 } }, { data: { threshold_percent: 100 } }
  ])
  const shown = await app.inject({ url: '/metrics', headers: { authorization: 'Bearer operator-key-of-this-test' } })
  t.match(shown.body, /tollgate_alert_attempts_total\{outcome="delivered"\} [34]/)
  const listed = await app.inject({ url: '/admin/alerts', headers: { authorization: 'Bearer operator-key-of-this-test' } })
  t.match(listed.json().data.at(-1), { object: 'alert', attempts: 1, data: { account: 'default' } })
})
