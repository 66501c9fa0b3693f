import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Download } from 'playwright-core'
import t from 'tap'
import { auditActions } from '../../console/src/words.ts'
import { seed } from '../helpers/seed.ts'
import { fillGateway } from './example.ts'
import { chat, loaded, openConsole, skip } from './stand.ts'

async function linesOf (download: Download): Promise<string[]> {
  const chunks: Buffer[] = []
  for await (const chunk of await download.createReadStream()) chunks.push(chunk)
  return Buffer.concat(chunks).toString().trim().split('\r\n')
}

t.test('audit: who changed what, found by filters and exported', { skip }, async t => {
  const { signIn, open, page, errors, admin } = await openConsole(t)
  await admin('POST', '/accounts', { id: 'team-a' })
  await admin('POST', '/accounts/team-a/deposits', { amount_usd: '12.000000001' })
  await admin('PATCH', '/accounts/team-a', { limits: { requests_per_minute: 5 } })
  await signIn()
  await open('/audit')
  await page.getByRole('row', { name: /credit\.deposit account:team-a .*amount \$12\.00/ }).waitFor()
  await page.getByLabel('What', { exact: true }).selectOption('account.update')
  await page.getByRole('row', { name: /credit\.deposit account:team-a/ }).waitFor({ state: 'detached' })
  await page.getByRole('row', { name: /limits none → requests per minute 5/ }).waitFor()
  t.equal(await page.getByRole('row').count(), 2)
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export CSV' }).click()])
  const lines = await linesOf(download)
  t.equal(lines[0], 'Time,Who,Label,What,To what,Changes')
  t.match(lines[1], /env,,account\.update,account:team-a,.*""requests_per_minute"":5/)
  await page.getByRole('link', { name: 'account:team-a' }).click()
  await page.getByRole('heading', { name: 'team-a' }).waitFor()
  t.same(errors, [])
})

t.test('audit: every action that is recorded can be chosen', async t => {
  const services = join(import.meta.dirname, '..', '..', 'services')
  const text = globSync('**/*.ts', { cwd: services }).map(name => readFileSync(join(services, name), 'utf8')).join('\n')
  const recorded = [...text.matchAll(/\baction(?::| =) '([a-z]+\.[a-z_]+)'/g)].map(([, action]) => action)
  t.ok(recorded.length > 10)
  t.same([...new Set(recorded)].filter(action => !auditActions.includes(action ?? '')), [])
})

t.test('statements: a month whose figures lead to its entries, and as CSV', { skip }, async t => {
  const stand = await openConsole(t)
  const { signIn, open, page, errors } = stand
  await fillGateway(stand)
  await signIn()
  const month = new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 7)
  await open(`/statements?month=${month}`)
  const row = page.getByRole('row', { name: /Research/ })
  await row.getByRole('link', { name: '$120.00' }).click()
  await page.getByRole('heading', { name: 'Research' }).waitFor()
  await page.getByRole('region', { name: 'Entries' }).getByText('budget of the quarter').waitFor()
  t.equal(await page.getByRole('region', { name: 'Entries' }).getByRole('row').count(), 2)
  t.equal(await page.getByLabel('Month (UTC)').inputValue(), month)
  await page.goBack()
  await row.waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export CSV' }).click()])
  t.match((await linesOf(download)).join('\n'), /research,.*120\.00/)
  t.same(errors, [])
})

t.test('alerts: each leads to what it is about', { skip }, async t => {
  const stand = await openConsole(t)
  await fillGateway(stand)
  const { signIn, open, page, errors } = stand
  await signIn()
  await open('/alerts')
  await page.getByText('80 % of the budget').waitFor()
  await page.getByText('The balance is $4.00, below $5.00.').waitFor()
  await page.getByRole('link', { name: 'Notebook' }).first().click()
  await page.getByRole('heading', { name: 'Notebook' }).waitFor()
  t.same(errors, [])
})

t.test('palette: the server finds a key among thousands', { skip }, async t => {
  const stand = await openConsole(t)
  const { signIn, open, page, errors, app: { store } } = stand
  await seed(store, { keys: 3000, requests: 0, media: 0 })
  await signIn()
  await open('/audit')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('seeded 2999')
  await page.getByRole('option', { name: /seeded 2999/ }).click()
  await page.getByRole('heading', { name: 'seeded 2999' }).waitFor()
  t.same(errors, [])
})

t.test('figures lead to what they are made of, and every table can be exported', { skip }, async t => {
  const stand = await openConsole(t)
  const { signIn, open, page, errors } = stand
  const { account, request } = await fillGateway(stand)
  await signIn()
  await open('/now')
  const today = page.getByRole('link', { name: /^\$/ })
  const spent = await today.locator('data').getAttribute('value')
  await today.click()
  await page.getByRole('heading', { name: 'Usage' }).waitFor()
  await page.getByRole('definition').first().locator('data').waitFor()
  t.equal(await page.getByRole('definition').first().locator('data').getAttribute('value'), spent)
  await page.getByRole('row', { name: /sandbox-chat/ }).getByRole('link').nth(1).click()
  await page.getByRole('heading', { name: 'Requests' }).waitFor()
  await loaded(page)
  t.equal(await page.getByRole('row').count(), 12, 'eleven requests of sandbox-chat')
  await open(`/accounts/${account}`)
  await page.getByRole('link', { name: '$120.00' }).click()
  t.match(page.url(), /kind=deposit#entries$/)
  await open(`/requests/${request}`)
  await page.getByRole('link', { name: /^entry_/ }).click()
  await page.getByRole('region', { name: 'Entries' }).getByRole('row', { name: 'usage' }).first().waitFor()
  for (const path of ['requests', `requests/${request}`, 'usage', 'accounts', `accounts/${account}`, 'keys', 'statements', 'media', 'jobs', 'providers', 'alerts', 'audit']) {
    await open(`/${path}`)
    await loaded(page)
    const tables = path === 'media' ? 1 : await page.getByRole('table').count()
    t.ok(tables > 0, path)
    t.equal(await page.getByRole('button', { name: 'Export CSV' }).count(), tables, `${path}: each of ${tables} tables can be exported`)
  }
  t.same(errors, [])
})

t.test('users have no filter by provider, and the sandbox says where it is', { skip }, async t => {
  const stand = await openConsole(t)
  const { signIn, open, page, key } = stand
  await chat(stand)
  await signIn()
  await open('/providers')
  await page.getByText('inside the gateway').waitFor()
  await open('/requests')
  t.equal(await page.getByLabel('Provider').count(), 1)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await signIn(key)
  await open('/requests')
  await page.getByLabel('Status').waitFor()
  t.equal(await page.getByLabel('Provider').count(), 0)
})
