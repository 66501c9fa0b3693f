import { createCipheriv, createHmac, hash, randomBytes } from 'node:crypto'
import t from 'tap'
import { createUrlSigner } from '../../../services/media/url-signer.ts'
import type { Store } from '../../../services/store/store.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { buildGateway } from '../../helpers/gateway.ts'
import { adminKey } from '../admin/helper.ts'
import { openBrowser, startConsole } from './browser.ts'

/** Every text of every column of a database, read by SELECT alone. */
async function textsIn (store: Store): Promise<string[]> {
  const tables = await store.all<{ name: string }>(store.engine === 'sqlite'
    ? "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
    : 'select table_name as name from information_schema.tables where table_schema = current_schema()')
  const rows = await Promise.all(tables.map(({ name }) => store.all<object>(`select * from ${name}`)))
  const texts = rows.flat().flatMap(row => Object.values(row)).filter(value => typeof value === 'string')
  // Values may be members of JSON, or parts of a text.
  return [...new Set(texts.flatMap(text => [text, ...text.match(/[\w-]{16,}/g) ?? []]))]
}

/** Seals a session as versions up to 0.9 did: JWE, `dir` with A256GCM. */
function sealed (key: string, value: object): string {
  const header = Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM' })).toString('base64url')
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'base64url'), iv).setAAD(Buffer.from(header))
  const text = cipher.update(JSON.stringify({ value, aud: 'session' }), undefined, 'base64url') + cipher.final('base64url')
  return [header, '', iv.toString('base64url'), text, cipher.getAuthTag().toString('base64url')].join('.')
}

const secretKey = 'a key of this test, which no database has'
const env = (databaseUrl: string) => ({ DATABASE_URL: databaseUrl, TOLLGATE_ADMIN_KEY: adminKey })

forEachEngine(t, 'who reads the database can forge neither a session nor its token', async (t, { open, url: databaseUrl }) => {
  const { app, browser, key, url } = await startConsole(t, { env: env(databaseUrl) })
  const owner = await app.keys.create({ account: 'default', label: 'owner', role: 'owner' })
  for (const signedIn of [key, adminKey, owner.key]) {
    await browser.signIn(signedIn)
    t.equal((await browser.ask('GET', '/admin/me')).status, 200)
  }
  t.equal((await browser.ask('PUT', '/console/session/key', { key })).status, 200)
  const texts = await textsIn(await open())
  const { secretSha256 } = await app.store.get<{ secretSha256: string }>(
    'select secret_sha256 as "secretSha256" from api_key where id = $1', [owner.id]) ?? { secretSha256: '' }
  t.ok(texts.includes(secretSha256), 'the copy has the digest of the key')

  const now = app.store.clock()
  const holder = { kind: 'key', id: owner.id, secretSha256 }
  const session = { id: 'forged', holder, payer: null, startedAt: now, seenAt: now, isSecure: false }
  const keys = texts.filter(text => Buffer.from(text, 'base64url').length === 32)
  const thief = openBrowser(url)
  const accepted: string[] = []
  for (const cookie of [...texts, ...keys.map(key => sealed(key, session))]) {
    thief.cookie = `tollgate_session=${encodeURIComponent(cookie)}`
    const { status } = await thief.ask('GET', '/admin/me')
    if (status !== 401) accepted.push(cookie)
  }
  t.strictSame(accepted, [])

  const [, token = ''] = browser.cookie.split('=')
  const shown = texts.join('\n')
  t.ok(token.length >= 43 && browser.csrf.length >= 43)
  t.notOk(shown.includes(token), 'the token of the session is not in it')
  t.notOk(shown.includes(browser.csrf), 'nor is its CSRF token')
  const derived = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('base64url')
  const guessed = texts.some(one => texts.some(other =>
    [other, `csrf|${other}`].some(text => derived(one, text) === browser.csrf)) || derived(one, 'csrf') === browser.csrf)
  t.notOk(guessed, 'nor what it is made of')
  for (const text of [adminKey, `console|${adminKey}`]) {
    for (const encoding of ['hex', 'base64url'] as const) {
      t.notOk(shown.includes(hash('sha256', text, encoding)), 'the admin key cannot be guessed offline')
    }
  }
})

forEachEngine(t, 'with a key in the environment, a copy of the database signs nothing', async (t, { open, url }) => {
  const before = await buildGateway(t, { env: env(url) })
  const webhookSecret = async ({ app }: Pick<typeof before, 'app'>, path = '', method: 'GET' | 'POST' = 'GET') =>
    (await app.inject({
      url: `/admin/accounts/default/webhook-secret${path}`, method, headers: { authorization: `Bearer ${adminKey}` }
    })).json()
  const { secret: first } = await webhookSecret(before)
  const media = {
    id: 'a', extension: 'png', mime: 'image/png', bytes: 1, width: 1, height: 1, createdAt: 0, expiresAt: 1_000_000
  }
  const signed = before.app.media.url(media, '')
  const readable = await textsIn(await open())
  t.ok(readable.includes(first), 'without a key, it can')

  const { app } = await buildGateway(t, { env: { ...env(url), TOLLGATE_SECRET_KEY: secretKey } })
  t.equal((await webhookSecret({ app })).secret, first, 'what was there before stays valid')
  t.equal(app.media.url(media, ''), signed)
  const { secret: second } = await webhookSecret({ app }, '/rotate', 'POST')
  const texts = await textsIn(await open())
  const shown = texts.join('\n')
  for (const secret of [first, second]) t.notOk(shown.includes(secret.replace('whsec_', '')))
  const signature = new URL(signed, 'http://a').searchParams.get('sig') ?? ''
  const made = texts.filter(text => createUrlSigner([text]).sign('a', '1000') === signature)
  t.strictSame(made, [])
  const madeBefore = readable.filter(text => createUrlSigner([text]).sign('a', '1000') === signature)
  t.equal(madeBefore.length, 1, 'without a key, it could')

  const message = /encrypted with the key [0-9a-f]{12}; none is set\. Set TOLLGATE_SECRET_KEY/
  await t.rejects(buildGateway(t, { env: env(url) }), { message })
  const other = { ...env(url), TOLLGATE_SECRET_KEY: 'another key of 32 characters or more' }
  await t.rejects(buildGateway(t, { env: other }), { message: /encrypted with the key [0-9a-f]{12}; set are [0-9a-f]{12}\./ })
  await buildGateway(t, { env: { ...other, TOLLGATE_SECRET_KEY_PREVIOUS: secretKey } })
})
