import t from 'tap'
import { buildGateway } from '../../helpers/gateway.ts'

const endpoints = [
  ['POST', '/v1/chat/completions'], ['POST', '/v1/completions'], ['GET', '/v1/models'],
  ['GET', '/v1/models/sandbox-chat'], ['GET', '/v1/dashboard/billing']
] as const

t.test('every endpoint wants a good key', async t => {
  const { app, key } = await buildGateway(t)
  const account = 'default'
  const expired = await app.keys.create({ account, label: 'old', expiresAt: Date.now() - 1 })
  const revoked = await app.keys.create({ account, label: 'gone' })
  await app.keys.revoke(revoked.id)
  const headers: Record<string, [string | undefined, string | null]> = {
    missing: [undefined, null],
    'of another scheme': [`Basic ${key}`, null],
    malformed: ['Bearer sk-1234567890abcdef', 'invalid_api_key'],
    unknown: ['Bearer sk-tg-0000000000000000-00000000000000000000000000000000', 'invalid_api_key'],
    'with a wrong secret': [`Bearer ${key.slice(0, -4)}0000`, 'invalid_api_key'],
    expired: [`Bearer ${expired.key}`, 'invalid_api_key'],
    revoked: [`Bearer ${revoked.key}`, 'invalid_api_key']
  }
  for (const [method, url] of endpoints) {
    for (const [what, [authorization, code]] of Object.entries(headers)) {
      const answer = await app.inject({
        method, url, headers: authorization === undefined ? {} : { authorization }, payload: method === 'POST' ? {} : undefined
      })
      t.equal(answer.statusCode, 401, `${method} ${url}, key ${what}`)
      t.strictSame({ ...answer.json().error, message: '' }, { message: '', type: 'invalid_request_error', param: null, code })
      t.equal(answer.headers['www-authenticate'], 'Bearer')
      t.match(answer.headers['x-request-id'], /^req_/)
      const secret = authorization?.split('-').at(-1)
      if (secret !== undefined && secret.length > 20) t.notMatch(answer.body, secret)
    }
  }
})

t.test('the scheme may be written in any case', async t => {
  const { app, key } = await buildGateway(t)
  const answer = await app.inject({ url: '/v1/models', headers: { authorization: `bearer ${key}` } })
  t.equal(answer.statusCode, 200)
})
