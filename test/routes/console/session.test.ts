import t from 'tap'
import { adminRoles } from '../../../schemas/admin/keys.ts'
import { createDatabase } from '../../helpers/engines.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { adminKey } from '../admin/helper.ts'
import { openBrowser, startConsole } from './browser.ts'

t.test('an operator signs in with a key, which the page cannot read again', async t => {
  const { app, browser } = await startConsole(t)
  const { key, id } = await app.keys.create({ account: 'default', label: 'Bo', role: 'finance' })
  const answer = await browser.signIn(key)
  const { csrf_token: csrf, started_at: startedAt, expires_at: expiresAt, ...session } = answer.body
  t.equal(answer.status, 201)
  t.same(session, {
    object: 'session',
    signed_in: true,
    actor: `key:${id}`,
    role: 'finance',
    label: 'Bo',
    account: null,
    permissions: ['read', 'money'],
    oidc: null,
    payer: null
  })
  t.equal(Date.parse(expiresAt) - Date.parse(startedAt), 3_600_000)
  t.match(answer.headers.get('set-cookie'), /^tollgate_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/)
  t.equal(answer.headers.get('cache-control'), 'no-store')
  const secret = key.split('-').at(-1) ?? ''
  t.notMatch(answer.text, secret)
  t.notMatch(browser.cookie, secret)

  t.match((await browser.ask('GET', '/console/session')).body, { ...session, csrf_token: csrf })
  t.match((await browser.ask('GET', '/admin/me')).body, { actor: `key:${id}`, role: 'finance' })
  const signedOut = await browser.ask('DELETE', '/console/session')
  t.match([signedOut.status, browser.cookie], [204, ''])
})

t.test('a change by a session is in the audit log under its actor', async t => {
  const { app, browser } = await startConsole(t)
  const { key, id } = await app.keys.create({ account: 'default', label: 'Ops', role: 'operator' })
  await browser.signIn(key)
  t.equal((await browser.ask('POST', '/admin/accounts', { id: 'team' })).status, 201)
  t.equal((await browser.ask('POST', '/admin/accounts/team/deposits', { amount_usd: 5 })).status, 403, 'no money for this role')
  const { body } = await browser.ask('GET', '/admin/audit?target=account:team')
  t.match(body.data, [{ actor: `key:${id}`, actor_label: 'Ops', action: 'account.create' }])
})

t.test('a host that is none is no error of the gateway', async t => {
  const { app } = await startConsole(t)
  for (const host of ['1.2.3.256', 'gw:99999', 'a b']) {
    for (const url of ['/admin/me', '/v1/models', '/console/session']) {
      const { statusCode } = await app.inject({ url, headers: { host, cookie: 'other=1' } })
      t.equal(statusCode, url === '/console/session' ? 200 : 401, `${host} ${url}`)
    }
  }
})

t.test('without a session the page learns so, and nothing opens', async t => {
  const { browser, key } = await startConsole(t)
  t.match(await browser.ask('GET', '/console/session'), { status: 200, body: { signed_in: false, role: null, csrf_token: null } })
  for (const wrong of ['nonsense', `${key}x`, 'sk-tg-0000000000000000-00000000000000000000000000000000']) {
    const refused = await browser.signIn(wrong)
    t.match([refused.status, refused.body.error.code, browser.cookie], [401, 'invalid_api_key', ''])
    t.notMatch(refused.text, wrong.slice(-20))
  }
  t.match(await browser.ask('GET', '/admin/me'), { status: 401 })
  browser.cookie = 'tollgate_session=eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA'
  t.match(await browser.ask('GET', '/admin/me'), { status: 401, body: { error: { code: 'session_ended' } } })
  t.match((await browser.ask('GET', '/console/session')).body, { signed_in: false })
  t.equal(browser.cookie, '', 'a cookie that opens nothing is removed')
})

t.test('another page cannot use the session', async t => {
  const { app, browser, url } = await startConsole(t)
  await browser.signIn(adminKey)
  const { csrf } = browser
  const body = { id: 'forged' }
  const evil = { origin: 'https://evil.example' }
  const forged: [headers: Record<string, string>, code: string][] = [
    [{ 'x-csrf-token': '' }, 'csrf_token_invalid'], [{ 'x-csrf-token': csrf.replace(/^./, sign => sign === 'A' ? 'B' : 'A') }, 'csrf_token_invalid'],
    [evil, 'origin_not_allowed'], [{ origin: 'null' }, 'origin_not_allowed'],
    [{ 'sec-fetch-site': 'cross-site' }, 'origin_not_allowed'], [{ 'sec-fetch-site': 'same-site' }, 'origin_not_allowed']
  ]
  for (const [headers, code] of forged) {
    t.match(await browser.ask('POST', '/admin/accounts', body, headers), { status: 403, body: { error: { code } } }, code)
  }
  t.match(await browser.ask('GET', '/admin/accounts', undefined, evil), { status: 403 })
  t.match(await browser.ask('GET', '/console/session', undefined, evil), { status: 403 })
  t.match(await browser.ask('POST', '/console/session', { key: adminKey }, evil), { status: 403 })
  t.equal(await app.store.get('select 1 from account where id = $1', ['forged']), undefined)

  const other = openBrowser(url)
  await other.signIn(adminKey)
  t.match(await browser.ask('POST', '/admin/accounts', body, { 'x-csrf-token': other.csrf }), { status: 403 }, 'a token is of one session')
  t.match(await browser.ask('GET', '/admin/accounts', undefined, { 'x-csrf-token': '' }), { status: 200 }, 'reading needs none')
  t.match(await browser.ask('POST', '/admin/accounts', body), { status: 201 })
})

t.test('a key that is sent beside a cookie counts alone', async t => {
  const { browser } = await startConsole(t)
  await browser.signIn(adminKey)
  t.match(await browser.ask('GET', '/admin/me', undefined, { authorization: 'Bearer nonsense' }), { status: 401 })
})

t.test('a session ends with its key, and everywhere at once when it signs out', async t => {
  const { app, browser, url } = await startConsole(t)
  const ended = { status: 401, body: { error: { code: 'session_ended' } } }
  const { key, id } = await app.keys.create({ account: 'default', label: '', role: 'viewer' })
  await browser.signIn(key)
  const thief = openBrowser(url)
  thief.cookie = browser.cookie
  await app.keys.rotate(id, { graceMs: 0 })
  t.match(await browser.ask('GET', '/admin/me'), ended, 'rotated')

  const revoked = await app.keys.create({ account: 'default', label: '', role: 'viewer' })
  await browser.signIn(revoked.key)
  await app.keys.revoke(revoked.id)
  t.match(await browser.ask('GET', '/admin/me'), ended, 'revoked')
  t.match((await browser.ask('GET', '/console/session')).body, { signed_in: false })

  await browser.signIn(adminKey)
  thief.cookie = browser.cookie
  await browser.ask('DELETE', '/console/session')
  t.match(await thief.ask('GET', '/admin/me'), ended, 'signed out')
})

t.test('signing out everywhere ends the sessions of that key alone', async t => {
  const { app, browser, key, url } = await startConsole(t)
  const ended = { status: 401, body: { error: { code: 'session_ended' } } }
  const { key: viewer } = await app.keys.create({ account: 'default', label: '', role: 'viewer' })
  const [elsewhere, other, user] = [openBrowser(url), openBrowser(url), openBrowser(url)]
  for (const one of [browser, elsewhere]) await one.signIn(adminKey)
  await other.signIn(viewer)
  await user.signIn(key)
  const path = '/console/session?everywhere=true'
  t.equal((await browser.ask('DELETE', path, undefined, { 'x-csrf-token': '' })).status, 403)
  t.match(await elsewhere.ask('GET', '/admin/me'), { status: 200 })
  t.equal((await browser.ask('DELETE', path)).status, 204)
  t.match(await elsewhere.ask('GET', '/admin/me'), ended)
  t.match(await other.ask('GET', '/admin/me'), { status: 200 })
  t.match(await user.ask('GET', '/admin/me'), { status: 200 })
})

t.test('a request postpones the end of a session; a stream that checks it again does not', async t => {
  const { app, browser } = await startConsole(t, {
    beforeReady: async app => {
      app.get('/stream', async (request, reply) => {
        reply.hijack()
        await app.enterSession(request, reply)
        reply.raw.end('data: {}')
      })
    }
  })
  await browser.signIn(adminKey)
  const seenAt = async () => (await app.store.get<{ at: number }>('select seen_at as at from console_session'))?.at ?? 0
  await app.store.run('update console_session set seen_at = seen_at - 120000')
  const idleSince = await seenAt()
  t.equal((await browser.ask('GET', '/stream')).text, 'data: {}')
  t.equal(await seenAt(), idleSince)
  await browser.ask('GET', '/admin/me')
  t.ok(await seenAt() >= idleSince + 120_000)
})

t.test('a cookie of another token, or an encrypted one of an earlier version, is no session', async t => {
  const { browser } = await startConsole(t)
  await browser.signIn(adminKey)
  const { cookie } = browser
  const earlier = `tollgate_session=eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AAAA.${'A'.repeat(600)}.AAAA`
  const changed = cookie.replace(/.$/, sign => sign === 'A' ? 'B' : 'A')
  for (const other of [changed, `${cookie}A`, earlier]) {
    browser.cookie = other
    t.match(await browser.ask('GET', '/admin/me'), { status: 401, body: { error: { code: 'session_ended' } } })
  }
  browser.cookie = cookie
  t.equal((await browser.ask('GET', '/admin/me')).status, 200)
})

t.test('after ten wrong keys an address has to wait, but for a valid one', async t => {
  const { browser, key } = await startConsole(t)
  for (let tries = 0; tries < 10; tries++) t.equal((await browser.signIn('nonsense')).status, 401)
  const refused = await browser.signIn('nonsense')
  t.match([refused.status, refused.body.error.code], [429, 'too_many_sign_ins'])
  t.match(refused.headers.get('retry-after'), /^(29\d|300)$/)
  t.equal((await browser.signIn(key)).status, 201, 'others may share its address')
})

t.test('a user reads their own account and nothing else', async t => {
  const { app, browser, key } = await startConsole(t)
  await app.accounts.create({ id: 'other', name: 'Other' })
  const other = await app.keys.create({ account: 'other', label: 'theirs' })
  t.match((await browser.signIn(key)).body, { role: 'user', account: 'default', permissions: ['account'] })
  const { body: { data: keys } } = await browser.ask('GET', '/admin/keys')
  t.same(keys.map((key: { account: string }) => key.account), ['default'])
  const own = [
    '/admin/me', '/admin/accounts/default', '/admin/accounts/default/balance', '/admin/usage', '/admin/usage?format=csv',
    '/admin/entries', '/admin/requests', '/admin/request-totals', '/admin/jobs', '/admin/usage?account=default'
  ]
  for (const path of own) t.equal((await browser.ask('GET', path)).status, 200, path)
  const refused: [path: string, status: number][] = [
    ['/admin/accounts', 403], ['/admin/accounts/other', 404], ['/admin/accounts/other/balance', 404], ['/admin/audit', 403],
    ['/admin/usage?account=other', 403], ['/admin/usage?children=true', 403], ['/admin/entries?account=other', 403],
    ['/admin/requests?account=other', 403], ['/admin/request-totals?account=other', 403], ['/admin/jobs?account=other', 403],
    ['/admin/keys?account=other', 403], [`/admin/keys/${other.id}`, 404], ['/metrics', 403],
    ['/admin/statements?month=2026-01', 403], ['/admin/suspense', 403], ['/admin/alerts', 403]
  ]
  for (const [path, status] of refused) t.equal((await browser.ask('GET', path)).status, status, path)
  t.equal((await browser.ask('POST', '/admin/accounts', { id: 'mine' })).status, 403)
  t.equal((await browser.ask('PATCH', `/admin/keys/${keys[0].id}`, { budget: null })).status, 403)
})

t.test('a user reads no entries of the accounts above and below their own', async t => {
  const { app, browser, key, url } = await startConsole(t)
  await app.accounts.create({ id: 'team', name: 'Team', parent: 'default' })
  const team = await app.keys.create({ account: 'team', label: '' })
  await browser.signIn(adminKey)
  t.equal((await browser.ask('POST', '/admin/accounts/default/transfers', { to: 'team', amount_usd: 1, id: 'move' })).status, 201)
  const spent = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${team.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hi' }] })
  })
  t.equal(spent.status, 200)
  const read = async (signedIn: string) => {
    await browser.signIn(signedIn)
    const { body: { data } } = await browser.ask('GET', '/admin/entries')
    const csv = (await browser.ask('GET', '/admin/entries?format=csv')).text
    const entries: Record<string, string>[] = data
    const moves = entries.map(({ kind, debit, credit }) => [kind, debit, credit])
    t.same(moves.map(([, debit, credit]) => csv.includes(`${debit},${credit}`)), moves.map(() => true), csv)
    return moves
  }
  const deposit = ['deposit', 'funding', 'default']
  t.same(await read(key), [['transfer', 'default', 'another account'], deposit])
  t.same(await read(team.key), [['usage', 'team', 'revenue'], ['transfer', 'another account', 'team']])
  await browser.signIn(adminKey)
  const { body: { data: all } } = await browser.ask('GET', '/admin/entries?account=default')
  t.match(all, [{ kind: 'usage', debit: 'team' }, { debit: 'default', credit: 'team' }, { kind: 'deposit' }], 'an operator does')
})

t.test('a user sees neither what the operator pays nor what providers say', async t => {
  const { app, browser, key } = await startConsole(t)
  await app.accounts.create({ id: 'other', name: 'Other' })
  const insert = `insert into request_log (request, at, api_key, account, route, model, provider, status, outcome, attempts,
    prompt_tokens, completion_tokens, cost_nano, total_ms, weight, words, calls)
    values ($1, $2, 'k', $3, '/v1/chat/completions', 'chat', 'up', 500, 2, 1, 1, 1, 1, 1, 1, 'the words', $4)`
  const calls = JSON.stringify([{ provider: 'up', model: 'm', status: 500, failure: 'overloaded', code: null, words: 'the words', at: 0, ms: 1 }])
  const now = app.store.clock()
  await app.store.run(insert, ['req_own', now, 'default', calls])
  await app.store.run(insert, ['req_other', now, 'other', calls])
  await browser.signIn(key)
  const { body } = await browser.ask('GET', '/admin/requests')
  t.match(body.data, [{ id: 'req_own', provider_words: null, attempts: [{ failure: 'overloaded', words: null }] }])
  t.equal((await browser.ask('GET', '/admin/requests/req_other')).status, 404)
  const one = await browser.ask('GET', '/admin/requests/req_own')
  t.equal(one.status, 200)
  t.notMatch(one.text, 'the words')
  t.notMatch((await browser.ask('GET', '/admin/usage?format=csv')).text, /provider_cost|margin/)
  await browser.signIn(adminKey)
  t.match((await browser.ask('GET', '/admin/requests/req_own')).text, 'the words', 'an operator does')
})

t.test('a session pays with the key of its user, or one that an operator chose', async t => {
  const { app, browser, key } = await startConsole(t)
  await browser.signIn(key)
  const ask = { model: 'nothing', messages: [{ role: 'user', content: 'Hi' }] }
  t.equal((await browser.ask('GET', '/v1/models')).status, 200)
  t.match(await browser.ask('POST', '/v1/chat/completions', ask), { status: 404, body: { error: { code: 'model_not_found' } } })
  for (const path of ['/v1/models', '/v1/chat/completions']) {
    const method = path === '/v1/models' ? 'GET' : 'POST'
    t.match(await browser.ask(method, path, method === 'GET' ? undefined : ask, { 'x-csrf-token': '' }), {
      status: 403, body: { error: { code: 'csrf_token_invalid' } }
    })
  }
  await browser.signIn(adminKey)
  t.match(await browser.ask('GET', '/v1/models'), { status: 403, body: { error: { code: 'user_key_required' } } })
  t.match(await browser.ask('PUT', '/console/session/key', { key: adminKey }), { status: 401 })
  const chosen = await browser.ask('PUT', '/console/session/key', { key })
  t.match(chosen, { status: 200, body: { role: 'owner', payer: { label: 'first key', account: 'default' } } })
  t.equal((await browser.ask('GET', '/v1/models')).status, 200)
  await app.keys.revoke(chosen.body.payer.key)
  t.match(await browser.ask('GET', '/v1/models'), { status: 401 })
  t.match((await browser.ask('GET', '/console/session')).body, { signed_in: true, payer: null })
})

t.test('a frozen account still shows its user why', async t => {
  const { app, browser, key } = await startConsole(t)
  await app.accounts.freeze('default', 'unpaid')
  t.equal((await browser.signIn(key)).status, 201)
  t.match((await browser.ask('GET', '/admin/accounts/default')).body, { state: 'frozen' })
})

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`all nodes of a database know a session (${engine})`, async t => {
    const { url: database } = await createDatabase(t, engine)
    const env = { DATABASE_URL: database, TOLLGATE_ADMIN_KEY: adminKey }
    const one = await startGateway(t, { env })
    const other = await startGateway(t, { env })
    const browser = openBrowser(one.url)
    await browser.signIn(adminKey)
    const elsewhere = Object.assign(openBrowser(other.url), { cookie: browser.cookie, csrf: browser.csrf })
    t.match(await elsewhere.ask('POST', '/admin/accounts', { id: 'team' }), { status: 201 })
    await browser.ask('DELETE', '/console/session')
    t.equal((await elsewhere.ask('GET', '/admin/me')).status, 401)
  })
}

t.test('where the browser uses https, the cookie is for https alone', async t => {
  const { browser, url } = await startConsole(t, { env: { PUBLIC_BASE_URL: 'https://gateway.example.com/v1' } })
  const origin = 'https://gateway.example.com'
  const answer = await browser.ask('POST', '/console/session', { key: adminKey }, { origin })
  t.match(answer.headers.get('set-cookie'), /^__Host-tollgate_session=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
  const ask = async (headers: Record<string, string>) => (await browser.ask('GET', '/admin/me', undefined, headers)).status
  t.equal(await ask({ origin }), 200)
  for (const other of ['http://gateway.example.com', new URL(url).origin, 'https://gateway.example.com:444', 'null']) {
    t.equal(await ask({ origin: other }), 403, other)
  }
  const plain = browser.cookie.replace('__Host-', '')
  t.equal(await ask({ origin, cookie: plain }), 401, 'other hosts of the domain could have set it')
  t.match((await browser.ask('GET', '/console/session', undefined, { origin, cookie: plain })).body, { signed_in: false })
  t.equal(await ask({ origin, cookie: `${plain}x; ${browser.cookie}` }), 200)
})

t.test('where the browser uses http, a page by https is not the gateway, and says how it may be', async t => {
  const { browser, url } = await startConsole(t)
  const origin = new URL(url).origin.replace('http:', 'https:')
  const answer = await browser.ask('POST', '/console/session', { key: adminKey }, { origin })
  t.match(answer, { status: 403, body: { error: { code: 'origin_not_allowed', message: /this gateway, at http:.* set PUBLIC_BASE_URL/ } } })
  t.match(await browser.signIn(adminKey), { status: 201 })
  t.match(browser.cookie, /^tollgate_session=/)
})

t.test('without a console there are no pages, no sign-in and no sessions, also for browsers that had one', async t => {
  const { app, browser } = await startConsole(t)
  await browser.signIn(adminKey)
  t.equal((await browser.ask('GET', '/admin/me')).status, 200)
  app.models.config().console.enabled = false
  t.match(await browser.ask('GET', '/admin/me'), { status: 401 })
  for (const path of ['/console', '/console/', '/console/requests', '/console/session', '/console/sign-in/oidc']) {
    t.match(await browser.ask('GET', path), { status: 404, body: { error: { type: 'invalid_request_error' } } }, path)
  }
  t.equal((await browser.ask('POST', '/console/session', { key: adminKey })).status, 404)
  const page = await browser.ask('GET', '/', undefined, { accept: 'text/html' })
  t.match([page.status, page.text.includes('console/')], [200, false])
  app.models.config().console.enabled = true
  t.equal((await browser.ask('GET', '/admin/me')).status, 200)
})

t.test('the document describes sessions', async t => {
  const { app } = await startConsole(t)
  const { paths, components } = (await app.inject('/openapi.json')).json()
  t.same(Object.keys(paths['/console/session']).sort(), ['delete', 'get', 'post'])
  t.match(components.securitySchemes.session, { type: 'apiKey', in: 'cookie' })
  t.match(paths['/admin/usage'].get, { description: 'For the roles owner, operator, finance, viewer. A user who signed in to the console reads their own account.' })
  t.equal(adminRoles.length, 4)
})
