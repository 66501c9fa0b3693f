import type { Route } from 'playwright-core'
import t from 'tap'
import { findingsOf, openConsole, skip } from './stand.ts'

/** Pages that show a list, with what stands there when it is empty. */
const empty = {
  requests: 'No requests yet',
  usage: 'Nothing was used in this period',
  media: 'Nothing is kept',
  jobs: 'No jobs yet',
  alerts: 'No alerts',
  'audit?actor=nobody': 'No change matches',
  'accounts?search=nobody': 'No account begins with that',
  'keys?search=nobody': 'No key begins with that',
  'statements?month=2020-01': 'No account had been opened by then'
}

const pages = [
  'now', 'requests', 'requests/req_1', 'usage', 'accounts', 'accounts/default', 'keys', 'keys/1', 'statements', 'media', 'jobs', 'jobs/job_1',
  'providers', 'alerts', 'audit', 'playground'
]

/** Answers as if the operator had chosen a key that pays. */
async function withPayer (route: Route): Promise<void> {
  const response = await route.fetch()
  const payer = { key: '1', label: '', account: 'default' }
  await route.fulfill({ response, json: { ...await response.json(), payer } })
}

t.test('states: a page without rows says what fills it', { skip }, async t => {
  const { signIn, open, page, errors } = await openConsole(t)
  await signIn()
  for (const [path, title] of Object.entries(empty)) {
    await open(`/${path}`)
    await page.getByRole('heading', { name: title }).waitFor()
    t.equal(await page.getByRole('alert').count(), 0, path)
    t.same(await findingsOf(page), [], path)
  }
  t.same(errors, [])
})

t.test('states: without a provider, pages show how to add one, and the playground has the sandbox', { skip }, async t => {
  const { signIn, open, page, key } = await openConsole(t)
  await signIn(key)
  await open('/playground')
  t.match(await page.getByRole('main').innerText(), /OPENAI_API_KEY=sk-… npm start/)
  t.equal(await page.getByLabel('Model').inputValue(), 'sandbox-chat')
})

for (const [status, advice] of [[500, /Try again\. If it happens again/], [503, /readyz says why/]] as const) {
  t.test(`states: status ${status} is told with what to do, and trying again helps`, { skip }, async t => {
    const { signIn, open, page, console } = await openConsole(t)
    await signIn()
    const error = { message: 'The books are closed.', type: 'server_error', param: null, code: null }
    const answer = { status, json: { error }, headers: { 'x-request-id': 'req_failed' } }
    for (const path of pages) {
      await page.route(/\/(admin|v1)\//, async route => await route.fulfill(answer))
      if (path === 'playground') await page.route('**/console/session', withPayer)
      await page.goto(`${console}/${path}`)
      const alert = page.getByRole('alert').first()
      await alert.waitFor()
      t.match(await alert.innerText(), /The books are closed\./, path)
      t.match(await alert.innerText(), advice, path)
      t.match(await alert.innerText(), /req_failed/, path)
      t.same(await findingsOf(page), [], path)
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      // Now connects again without being asked.
      if (path === 'now') await page.getByText('Requests per second').first().waitFor()
      if (!['accounts', 'requests', 'audit'].includes(path)) continue
      await page.getByRole('button', { name: 'Try again' }).click()
      await alert.waitFor({ state: 'detached' })
    }
    await open('/accounts')
    t.ok(await page.getByRole('row').nth(1).isVisible())
  })
}

t.test('states: an ended session asks for the key on every page, and comes back to it', { skip }, async t => {
  const { signIn, page, console, errors } = await openConsole(t)
  await signIn()
  const error = { message: 'Sign in.', type: 'invalid_request_error', param: null, code: 'invalid_api_key' }
  for (const path of pages.filter(path => path !== 'playground')) {
    await page.route(/\/admin\//, async route => await route.fulfill({ status: 401, json: { error } }))
    await page.goto(`${console}/${path}`)
    await page.getByText('Your session has ended').waitFor()
    t.match(page.url(), new RegExp(`/${path}$`))
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }
  t.same(errors.filter(text => !/status of 401/.test(text)), [])
})
