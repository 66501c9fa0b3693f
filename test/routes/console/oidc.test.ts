import t, { type Test } from 'tap'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import type { ConsoleSettings } from '../../../schemas/config/console.ts'
import { startConsole } from './browser.ts'
import { startIdentityProvider } from './identity-provider.ts'

const longNames = Array.from({ length: 30 }, (_, index) => `${index}-${'g'.repeat(90)}`)
const groups = { ada: ['staff', 'gateway-admins'], bob: ['staff'], eve: ['guests'], guy: longNames }
const roles = [
  { group: 'gateway-admins', role: 'owner' as const },
  { group: 'staff', role: 'viewer' as const },
  ...longNames.map(group => ({ group, role: 'viewer' as const }))
]

async function startWithProvider (t: Test) {
  let redirectUri = ''
  const provider = await startIdentityProvider(t, { redirectUri: () => redirectUri, groups })
  const oidc: NonNullable<ConsoleSettings['oidc']> = {
    issuer: provider.issuer,
    clientId: 'tollgate',
    clientSecret: 'the secret',
    label: 'Example Inc.',
    scope: 'openid profile groups',
    groupsClaim: 'groups',
    roles
  }
  const config = { ...configFromEnvironment({}), console: { enabled: true, oidc } }
  const gateway = await startConsole(t, { config })
  redirectUri = new URL('/console/sign-in/callback', gateway.url).href
  const { browser } = gateway
  const jar = new Map<string, string>()
  /** What a browser does that follows a link, with the cookies of the gateway. */
  const go = async (url: string | URL) => {
    const answer = await fetch(new URL(url, gateway.url), {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '), 'sec-fetch-site': 'cross-site' }
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    const text = await answer.text()
    return { status: answer.status, location: answer.headers.get('location') ?? '', body: text === '' ? null : JSON.parse(text) }
  }
  const signIn = async (person: string, change: (url: URL) => void = () => {}) => {
    const begun = await go('/console/sign-in/oidc')
    const url = new URL(begun.location)
    change(url)
    return await go(await provider.signIn(url.href, person))
  }
  const use = async () => {
    browser.cookie = `tollgate_session=${jar.get('tollgate_session') ?? ''}`
    const session = await browser.ask('GET', '/console/session')
    browser.csrf = session.body.csrf_token ?? ''
    return session
  }
  return { ...gateway, config, go, signIn, use, jar, browser, provider }
}

t.test('somebody signs in at the identity provider and has the role of their first group', async t => {
  const { app, signIn, use, browser, go } = await startWithProvider(t)
  t.match((await browser.ask('GET', '/console/session')).body, {
    signed_in: false, oidc: { label: 'Example Inc.', path: '/console/sign-in/oidc' }
  })
  const begun = new URL((await go('/console/sign-in/oidc')).location)
  t.match(Object.fromEntries(begun.searchParams), { response_type: 'code', code_challenge_method: 'S256', nonce: /.{20,}/, state: /.{20,}/ })
  t.match(await signIn('ada'), { status: 302, location: '/console/' })
  t.match((await use()).body, { signed_in: true, actor: 'oidc:ada', label: 'Person ada', role: 'owner', account: null })
  t.equal((await browser.ask('POST', '/admin/accounts', { id: 'team' })).status, 201)
  const { body: { data } } = await browser.ask('GET', '/admin/audit?actor=oidc:ada')
  t.match(data, [{ action: 'account.create', actor_label: 'Person ada' }, { action: 'session.start', after: { role: 'owner' } }])

  t.match(await signIn('bob'), { status: 302 })
  t.match((await use()).body, { actor: 'oidc:bob', role: 'viewer' })
  t.equal((await browser.ask('POST', '/admin/accounts', { id: 'other' })).status, 403)
  t.match(await browser.ask('GET', '/v1/models'), { status: 403, body: { error: { code: 'user_key_required' } } })
  t.equal(app.models.config().console.oidc?.roles.length, roles.length)
})

t.test('a person without a role is refused, and loses the session when the role is taken away', async t => {
  const { signIn, use, jar, config, browser } = await startWithProvider(t)
  t.match(await signIn('eve'), { status: 403, body: { error: { code: 'no_role', message: /Person eve belongs to no group/ } } })
  t.notOk(jar.has('tollgate_session'))
  await signIn('bob')
  t.match((await use()).body, { role: 'viewer' })
  config.console.oidc.roles = [{ group: 'gateway-admins', role: 'owner' }]
  t.match(await browser.ask('GET', '/admin/me'), { status: 401, body: { error: { code: 'session_ended' } } })
})

t.test('a person may have many groups, whatever a cookie has room for', async t => {
  const { signIn, use, jar } = await startWithProvider(t)
  t.match(await signIn('guy'), { status: 302 })
  t.match((await use()).body, { actor: 'oidc:guy', role: 'viewer' })
  t.match(jar.get('tollgate_session'), /^[\w-]{43}$/)
})

t.test('an ID token that its provider has not signed, or that names no subject, is refused', async t => {
  const { signIn, jar, provider } = await startWithProvider(t)
  const refused = { status: 401, body: { error: { code: 'sign_in_failed' } } }
  const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const changes: Record<string, (token: string) => string> = {
    'a broken signature': token => token.replace(/[^.]+$/, signature => signature.replace(/^./, sign => sign === 'A' ? 'B' : 'A')),
    'another subject': token => token.replace(/\.[^.]+\./, `.${Buffer.from(JSON.stringify({ ...claimsOf(token), sub: 'ada' })).toString('base64url')}.`),
    'no signature': token => token.replace(/[^.]+$/, ''),
    'an empty subject': token => provider.signed({ ...claimsOf(token), sub: '', groups: ['staff'] }),
    'a blank subject': token => provider.signed({ ...claimsOf(token), sub: ' ', groups: ['staff'] })
  }
  for (const [name, change] of Object.entries(changes)) {
    provider.changeIdToken = change
    t.match(await signIn('bob'), refused, name)
    t.notOk(jar.has('tollgate_session'), name)
  }
  provider.changeIdToken = token => provider.signed({ ...claimsOf(token), groups: ['staff'] })
  t.match(await signIn('bob'), { status: 302 }, 'the same, signed')
})

t.test('an attempt to sign in starts one session', async t => {
  const { go, jar, provider } = await startWithProvider(t)
  const begun = (await go('/console/sign-in/oidc')).location
  const attempt = jar.get('tollgate_sign_in') ?? ''
  t.match(await go(await provider.signIn(begun, 'ada')), { status: 302 })
  jar.clear()
  jar.set('tollgate_sign_in', attempt)
  const second = await provider.signIn(begun, 'bob')
  t.match(await go(second), { status: 401, body: { error: { code: 'sign_in_failed', message: /finished before/ } } })
  t.notOk(jar.has('tollgate_session'))
})

t.test('an answer that does not belong to what this browser began is refused', async t => {
  const { signIn, go, jar } = await startWithProvider(t)
  const refused = { status: 401, body: { error: { code: 'sign_in_failed' } } }
  t.match(await signIn('ada', url => { url.searchParams.set('nonce', 'of-another-browser-0000000') }), refused, 'wrong nonce')
  t.match(await signIn('ada', url => { url.searchParams.set('state', 'of-another-browser-0000000') }), refused, 'wrong state')
  t.match(await signIn('ada', url => { url.searchParams.set('code_challenge', 'A'.repeat(43)) }), refused, 'wrong verifier')
  t.match(await signIn('ada', () => { jar.clear() }), refused, 'another browser')
  t.match(await go('/console/sign-in/callback?code=made-up&state=made-up'), refused)
  t.notOk(jar.has('tollgate_session'))
})

t.test('without an identity provider in the configuration, or when it is away, nobody is sent there', async t => {
  const { browser } = await startConsole(t)
  t.match((await browser.ask('GET', '/console/session')).body, { oidc: null })
  t.match(await browser.ask('GET', '/console/sign-in/oidc'), { status: 404, body: { error: { code: 'oidc_not_configured' } } })
  const { go, config } = await startWithProvider(t)
  config.console.oidc = { ...config.console.oidc, issuer: 'http://127.0.0.1:9' }
  t.match(await go('/console/sign-in/oidc'), { status: 503 })
})
