import { adminKey } from '../admin/helper.ts'
import { startGateway, type Gateway } from '../../helpers/gateway.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what the answer is like, the test says
export interface Answer { status: number, headers: Headers, body: any, text: string }

/** What a browser with a page of the gateway does: it keeps the cookie, and names the origin of the page. */
export interface Browser {
  /** The cookie header that is sent next; empty without a session. */
  cookie: string
  csrf: string
  ask (method: Method, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>
  signIn (key: string): Promise<Answer>
}

/** Opens a browser without a session. */
export function openBrowser (url: string): Browser {
  const root = new URL(url).origin
  const browser: Browser = {
    cookie: '',
    csrf: '',
    async ask (method, path, body, headers = {}) {
      const response = await fetch(new URL(path, root), {
        method,
        headers: {
          origin: root,
          'sec-fetch-site': 'same-origin',
          ...(browser.cookie !== '' && { cookie: browser.cookie }),
          ...(browser.csrf !== '' && { 'x-csrf-token': browser.csrf }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers
        },
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
      for (const cookie of response.headers.getSetCookie()) browser.cookie = keptCookie(cookie)
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
      const { status, headers: received } = response
      return { status, headers: received, text, body: isJson ? JSON.parse(text) : text }
    },
    async signIn (key) {
      const answer = await browser.ask('POST', '/console/session', { key })
      browser.csrf = answer.body.csrf_token ?? ''
      return answer
    }
  }
  return browser
}

function keptCookie (header: string): string {
  return /max-age=0/i.test(header) ? '' : header.split(';', 1)[0] ?? ''
}

/** A gateway with an admin key of the environment, and a browser of it. */
export async function startConsole (
  t: Parameters<typeof startGateway>[0], options: Parameters<typeof startGateway>[1] = {}
): Promise<Gateway & { browser: Browser }> {
  const gateway = await startGateway(t, { ...options, env: { TOLLGATE_ADMIN_KEY: adminKey, ...options.env } })
  return Object.assign(gateway, { browser: openBrowser(gateway.url) })
}
