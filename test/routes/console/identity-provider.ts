import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import Provider from 'oidc-provider'

/** A provider of identities that signs everybody in, and a browser that visits it. */
export interface IdentityProvider {
  issuer: string
  /** Signs somebody in by following the pages from `url`; returns the address that it is sent back to. */
  signIn (url: string, person: string): Promise<URL>
  /** Changes the ID tokens on their way to the gateway; `signed` signs claims as the provider does. */
  changeIdToken: (token: string) => string
  signed (claims: object): string
}

const keyOfProvider = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })
const jwk = { ...keyOfProvider, kid: 'one', alg: 'RS256', use: 'sig' }

function signed (claims: object): string {
  const parts = [{ alg: 'RS256', kid: 'one', typ: 'JWT' }, claims]
  const input = parts.map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const key = createPrivateKey({ key: keyOfProvider, format: 'jwk' })
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

/** Starts oidc-provider for one client; `groups` has those of each person. Closed when the test ends. */
export async function startIdentityProvider (
  t: Test, { redirectUri, groups }: { redirectUri: () => string, groups: Record<string, string[]> }
): Promise<IdentityProvider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let handle: ReturnType<Provider['callback']> | undefined
  server.on('request', (request, response) => {
    handle ??= handlerOf(createProvider(issuer, redirectUri(), groups))
    handle(request, response)
  })

  function handlerOf (provider: Provider) {
    provider.use(async (context, next) => {
      await next()
      const { body } = context
      if (context.path === '/token' && body.id_token !== undefined) body.id_token = found.changeIdToken(body.id_token)
    })
    return provider.callback()
  }

  const found: IdentityProvider = {
    issuer,
    signIn: async (url, person) => await visit(issuer, url, person),
    changeIdToken: token => token,
    signed
  }
  return found
}

function createProvider (issuer: string, redirectUri: string, groups: Record<string, string[]>): Provider {
  return new Provider(issuer, {
    clients: [{ client_id: 'tollgate', client_secret: 'the secret', redirect_uris: [redirectUri], token_endpoint_auth_method: 'client_secret_post' }],
    claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'groups'],
    cookies: { keys: ['a key of this test'] },
    jwks: { keys: [jwk] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: async () => ({ sub: id, name: `Person ${id}`, groups: groups[id] ?? [] })
    })
  })
}

/** Follows redirects and fills in the pages for development: the sign-in, then the consent. */
async function visit (issuer: string, start: string, person: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = new URL(start)
  let form: URLSearchParams | null = null
  for (let steps = 0; steps < 20; steps++) {
    if (url.origin !== issuer) return url
    const answer: Response = await fetch(url, {
      redirect: 'manual',
      method: form === null ? 'GET' : 'POST',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      body: form
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = answer.headers.get('location')
    const page = await answer.text()
    form = null
    if (location !== null) url = new URL(location, url)
    else {
      const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1]
      if (action === undefined) throw new Error(`${answer.status} ${page}`)
      url = new URL(action, url)
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? ''
      form = new URLSearchParams({ prompt, login: person, password: 'any' })
    }
  }
  throw new Error('too many pages')
}
