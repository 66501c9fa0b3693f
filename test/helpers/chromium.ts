import { existsSync } from 'node:fs'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import root from 'tap'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

/** Why tests in a browser cannot run here; false if they can. */
export const skip = executablePath === undefined ? 'there is no Chromium on this machine' : false

interface Teardown { teardown (work: () => unknown): void }

let browser: Promise<Browser> | undefined

/** A page in a window of its own, without cookies; closed when the test ends. */
export async function openPage (t: Teardown, options: BrowserContextOptions = {}): Promise<Page> {
  browser ??= startBrowser()
  const context = await (await browser).newContext(options)
  t.teardown(() => context.close())
  return await context.newPage()
}

/** Exceptions of a page from now on, and what its content security policy stops. */
export function problemsOf (page: Page): readonly string[] {
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', message => {
    if (/content security policy/i.test(message.text())) problems.push(message.text())
  })
  return problems
}

/** Starts the one browser of this process; it ends with the tests. */
async function startBrowser (): Promise<Browser> {
  const started = await chromium.launch({ ...executablePath !== undefined && { executablePath }, args: ['--no-sandbox'] })
  root.teardown(() => started.close())
  return started
}
