import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { openPage } from '../helpers/chromium.ts'
import { startGateway, type Gateway } from '../helpers/gateway.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export { skip } from '../helpers/chromium.ts'

export const adminKey = `sk-admin-${'0'.repeat(24)}`

interface Teardown { teardown (work: () => unknown): void }

/** An answer of `/admin`, as far as tests look at it. */
interface AdminAnswer {
  id: string
  key: string
  balance_usd: number
  amount_nano: number
  data: AdminAnswer[]
}

/** A gateway with its console, and a browser that looks at it. */
export interface Stand extends Gateway {
  page: Page
  /** Address of the console, without a slash at its end. */
  console: string
  /** Errors of the page so far: exceptions, console errors, and what the content security policy stopped. */
  errors: string[]
  /** Calls an operation of `/admin` as an owner and returns the answer. */
  admin (method: 'GET' | 'POST' | 'PATCH', path: string, body?: object): Promise<AdminAnswer>
  /** Signs in through the page. */
  signIn (key?: string): Promise<void>
  /** Goes to a page of the console and waits until it has loaded. */
  open (path: string): Promise<void>
}

/** Options of `startGateway`, and the size of the window. */
export type StandOptions = Parameters<typeof startGateway>[1] & { width?: number, colorScheme?: 'light' | 'dark' }

/** Starts a gateway and opens its console in a new window; both end with the test. */
export async function openConsole (t: Teardown, { width = 1280, colorScheme = 'light', ...options }: StandOptions = {}): Promise<Stand> {
  const gateway = await startGateway(t, { ...options, env: { TOLLGATE_ADMIN_KEY: adminKey, ...options.env } })
  const page = await openPage(t, {
    viewport: { width, height: width < 500 ? 844 : 800 }, colorScheme, locale: 'en-GB', timezoneId: 'Europe/Berlin'
  })
  await page.addInitScript(sumShifts)
  const errors: string[] = []
  page.on('pageerror', error => errors.push(String(error)))
  page.on('console', message => { if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`) })
  const origin = gateway.url.replace(/\/v1$/, '')
  const stand: Stand = Object.assign(gateway, {
    page,
    console: `${origin}/console`,
    errors,
    async admin (method: string, path: string, body?: object) {
      const response = await fetch(`${origin}/admin${path}`, {
        method,
        headers: { authorization: `Bearer ${adminKey}`, ...body !== undefined && { 'content-type': 'application/json' } },
        ...body !== undefined && { body: JSON.stringify(body) }
      })
      if (!response.ok) throw new Error(await response.text())
      return await response.json() as AdminAnswer
    },
    async signIn (key = adminKey) {
      await page.goto(stand.console)
      await page.getByLabel('Key').fill(key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('navigation').waitFor()
    },
    async open (path: string) {
      await page.goto(`${stand.console}${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await loaded(page)
    }
  })
  return stand
}

/** Resolves when nothing on the page is loading. */
export async function loaded (page: Page): Promise<void> {
  await page.locator('.loading, [aria-busy="true"]').first().waitFor({ state: 'detached' })
}

/** Resolves when the page has loaded, also what it began to load after that. */
export async function settled (page: Page): Promise<void> {
  await page.waitForLoadState('load')
  await loaded(page)
  // The browser reports layout shifts after the frame that has them.
  await page.evaluate('new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve, 50)))')
  await loaded(page)
}

/** Delays the answers of the API, each by another time, so that the parts of a page come one by one. */
export async function slowDown (page: Page): Promise<void> {
  let count = 0
  await page.route(/\/(admin|v1)\//, async route => {
    await new Promise(resolve => setTimeout(resolve, 40 + count++ % 4 * 60))
    await route.continue()
  })
}

/** The sum of the layout shifts since the page was loaded; those that follow an input do not count. */
export async function layoutShift (page: Page): Promise<number> {
  return await page.evaluate('layoutShift')
}

const sumShifts = `
  globalThis.layoutShift = 0
  new PerformanceObserver(list => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) layoutShift += value
  }).observe({ type: 'layout-shift', buffered: true })`

/** Serious and critical findings of axe on the page as it is, as `rule: element`. */
export async function findingsOf (page: Page): Promise<string[]> {
  // Evaluated by the browser's debugger, which the content security policy does not bind.
  await page.evaluate(axe)
  const run: () => Promise<{ violations: { id: string, impact: string, nodes: { html: string }[] }[] }> =
    () => (globalThis as unknown as { axe: { run: () => never } }).axe.run()
  const { violations } = await page.evaluate(run)
  return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

/** Whether the page is wider than its window. */
export async function isTooWide (page: Page): Promise<boolean> {
  return await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
}

/** Whether a table of the page has columns that are seen only after scrolling it. */
export async function hasCutTable (page: Page): Promise<boolean> {
  return await page.evaluate("[...document.querySelectorAll('.table')].some(frame => frame.scrollWidth > frame.clientWidth)")
}

/** Sends a chat completion to the sandbox and resolves with the id of the request. */
export async function chat ({ url, headers }: Gateway, body: object = {}): Promise<string> {
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Say: "hello"' }], ...body })
  })
  await response.text()
  return response.headers.get('x-request-id') ?? ''
}

/** Deposits $1.00 by the dialog of the page of the account "default", and waits until that is announced. */
export async function depositDollar (page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Deposit' }).click()
  await page.getByLabel('Amount in US dollars').fill('1')
  await page.keyboard.press('Enter')
  await page.getByText('Deposited $1.00 to default.').waitFor()
}
