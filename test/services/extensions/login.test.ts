import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import t, { type Test } from 'tap'
import jwt from '../../../services/extensions/shipped/jwt.ts'
import type { TollgatePlugin } from '../../../services/extensions/types.ts'
import { apis, chargeNano, openPluginShop } from './plugin-shop.ts'

const { chat } = apis

function login (name: string, header: string, more: object = {}): TollgatePlugin {
  return {
    name,
    authenticate: ({ headers }) => headers[header] === undefined ? null : { account: 'team', subject: headers[header], ...more }
  }
}

t.test('plugins decide who sends a request in their order, and keys come last', async t => {
  const shop = await openPluginShop(t, [login('first', 'x-first'), login('second', 'x-second')])
  const { app } = shop.gateway
  await app.accounts.create({ id: 'team' })
  await app.accounts.deposit({ id: 'credit', account: 'team', amountNano: 1_000_000_000 })
  const second = await shop.post(chat.path, chat.body, { 'x-second': 'ann', authorization: '' })
  t.equal(second.status, 200, second.text)
  t.equal(second.headers['x-tollgate-plugins'], 'second')
  const first = await shop.post(chat.path, chat.body, { 'x-first': 'ann', 'x-second': 'bob', authorization: '' })
  t.equal(first.headers['x-tollgate-plugins'], 'first')
  t.equal((await shop.post(chat.path, chat.body)).headers['x-tollgate-plugins'], undefined)
  t.equal((await shop.post(chat.path, chat.body, { authorization: 'Bearer wrong' })).status, 401)
  await app.ledger.flush()
  t.match(await app.ledger.balance('team'), { spentNano: 2 * chargeNano, heldNano: 0 })
  t.same(await shop.books(), { spentNano: chargeNano, heldNano: 0 })
  t.same((await app.keys.list({ account: 'team' })).map(({ label }) => label).sort(), ['first: ann', 'second: ann'])
})

t.test('a user has one key, with the settings of the first request, which an operator may change and revoke', async t => {
  const shop = await openPluginShop(t, [login('sso', 'x-user', { createAccount: true, models: ['chat'], requestsPerMinute: 100 })])
  const { app } = shop.gateway
  const post = (body: object = chat.body) => shop.post(chat.path, body, { 'x-user': 'ann', authorization: '' })
  t.equal((await post()).status, 402, 'the account was created without money')
  await app.accounts.deposit({ id: 'credit', account: 'team', amountNano: 1_000_000_000 })
  t.same((await Promise.all([post(), post(), post()])).map(({ status }) => status), [200, 200, 200])
  t.equal((await post({ ...chat.body, model: 'sandbox-chat' })).status, 404)
  const keys = await app.keys.list({ account: 'team' })
  t.match(keys, [{ label: 'sso: ann', models: ['chat'], limits: { requestsPerMinute: 100 } }])
  t.equal(keys.length, 1)
  await app.keys.revoke(keys[0]?.id ?? '')
  const revoked = await post()
  t.equal(revoked.status, 401, revoked.text)
})

t.test('an account that does not exist is a clear error', async t => {
  const shop = await openPluginShop(t, [login('sso', 'x-user')])
  const response = await shop.post(chat.path, chat.body, { 'x-user': 'ann', authorization: '' })
  t.equal(response.status, 403)
  t.match(response.json().error, { code: 'unknown_account' })
})

t.test('a hostile login opens nothing', async t => {
  const wrong: Record<string, unknown> = {
    'no account': { subject: 'a' },
    'an own account of the ledger': { account: 'revenue', subject: 'a', createAccount: true },
    'a number': 5,
    'a long subject': { account: 'team', subject: 'a'.repeat(257) },
    'a wrong limit': { account: 'team', subject: 'a', requestsPerMinute: -1 }
  }
  for (const [what, identity] of Object.entries(wrong)) {
    const shop = await openPluginShop(t, [{ name: 'bad', authenticate: () => identity as null }])
    const response = await shop.post(chat.path, chat.body)
    t.ok(response.status >= 400, `${what} ${response.status}`)
    t.equal(shop.upstream.requests.length, 0, what)
  }
  const skipped = await openPluginShop(t, [{ name: 'bad', onError: 'skip', authenticate () { throw new Error('x') } }])
  t.equal((await skipped.post(chat.path, chat.body, { authorization: 'Bearer x' })).status, 401, 'the keys decide')
  t.equal((await skipped.post(chat.path, chat.body)).status, 200)
  const hanging = await openPluginShop(t, [{ name: 'bad', timeoutMs: 20, authenticate: () => new Promise(() => {}) }])
  const response = await hanging.post(chat.path, chat.body)
  t.equal(response.status, 500)
  t.equal(response.headers['x-tollgate-plugins'], 'bad;timeout')
  const refusing = await openPluginShop(t, [{ name: 'no', authenticate: (_request, { reject }) => reject(401, 'Not you.', 'no') }])
  t.match((await refusing.post(chat.path, chat.body)).json().error, { message: 'Not you.', code: 'no' })
})

/** An identity provider with a key set that can be replaced. */
async function startIssuer (t: Test) {
  let keys: object[] = []
  let fetches = 0
  const server = createServer((_request, response) => {
    fetches++
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  async function addKey (kid: string, alg = 'ES256') {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    keys = [...keys, { ...await exportJWK(publicKey), kid, alg, use: 'sig' }]
    return (claims: JWTPayload = {}) => new SignJWT({
      iss: issuer, aud: 'tollgate', sub: 'ann', org: 'team', exp: Math.floor(Date.now() / 1000) + 60, ...claims
    }).setProtectedHeader({ alg, kid }).sign(privateKey)
  }
  return { issuer, addKey, forget: () => { keys = [] }, get fetches () { return fetches } }
}

t.test('tollgate/jwt accepts tokens of the issuer alone, while they are valid', async t => {
  const idp = await startIssuer(t)
  const sign = await idp.addKey('one')
  const signRsa = await idp.addKey('two', 'RS256')
  const signOther = await idp.addKey('three', 'ES384')
  const plugin = jwt({ jwks: `${idp.issuer}/jwks`, issuer: idp.issuer, audience: 'tollgate', account_claim: 'org', create_accounts: true })
  const shop = await openPluginShop(t, [plugin])
  const { app } = shop.gateway
  await app.accounts.create({ id: 'team' })
  await app.accounts.deposit({ id: 'credit', account: 'team', amountNano: 1_000_000_000 })
  const post = async (token: string | Promise<string>) => await shop.post(chat.path, chat.body, { authorization: `Bearer ${await token}` })
  for (const token of [sign(), signRsa()]) {
    const response = await post(token)
    t.equal(response.status, 200, response.text)
    t.equal(response.headers['x-tollgate-plugins'], 'tollgate/jwt')
  }
  const nowS = Math.floor(Date.now() / 1000)
  const claims = { iss: idp.issuer, aud: 'tollgate', sub: 'ann', org: 'team', exp: nowS + 60 }
  const refused: Record<string, string | Promise<string>> = {
    expired: sign({ exp: nowS - 60 }),
    'not valid yet': sign({ nbf: nowS + 120 }),
    'of another issuer': sign({ iss: 'https://evil.example' }),
    'for another audience': sign({ aud: 'other' }),
    'without expiry': sign({ exp: undefined }),
    'without a user': sign({ sub: '' }),
    'without an account': sign({ org: undefined }),
    'with an algorithm that is not allowed': signOther(),
    unsigned: new UnsecuredJWT(claims).encode(),
    'signed with the public key as a secret': new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(Buffer.alloc(32)),
    'with another signature': sign().then(token => token.replace(/\.[^.]+$/, `.${Buffer.alloc(64, 1).toString('base64url')}`))
  }
  for (const [what, token] of Object.entries(refused)) {
    const response = await post(token)
    t.equal(response.status, 401, what)
    t.match(response.json().error, { code: 'invalid_token' }, what)
  }
  t.equal((await shop.post(chat.path, chat.body)).status, 200, 'keys of Tollgate still work')
  t.equal(idp.fetches, 1, 'the key set is cached')
})

t.test('tollgate/jwt follows a rotation of the keys', async t => {
  const idp = await startIssuer(t)
  await idp.addKey('old')
  const plugin = jwt({ jwks: `${idp.issuer}/jwks`, issuer: idp.issuer, audience: 'tollgate', account: 'default' })
  const shop = await openPluginShop(t, [plugin])
  idp.forget()
  const sign = await idp.addKey('new')
  t.equal((await shop.post(chat.path, chat.body, { authorization: `Bearer ${await sign()}` })).status, 200)
})

t.test('tollgate/jwt refuses wrong options', async t => {
  const right = { jwks: 'https://a.example/jwks', issuer: 'a', audience: 'b', account: 'c' }
  for (const wrong of [{ jwks: 'x' }, { issuer: '' }, { account: '' }, { algorithms: ['HS256'] }, { algorithms: ['none'] }, { algorithms: [] }]) {
    t.throws(() => jwt({ ...right, ...wrong }), TypeError)
  }
})
