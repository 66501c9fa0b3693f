import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { configFor, providerAt } from '../helpers/gateway.ts'
import { refusal, startUpstream } from '../servers/upstream.ts'
import { chat, findingsOf, isTooWide, openConsole, skip } from './stand.ts'

t.test('now: figures arrive and link to what they are made of', { skip }, async t => {
  const stand = await openConsole(t)
  const { signIn, open, page, errors } = stand
  await chat(stand)
  await signIn()
  await open('/now')
  await page.getByText('Requests per second').waitFor()
  await page.getByRole('link', { name: /^0\.[0-9]+$/ }).waitFor()
  await page.getByRole('img', { name: /Requests per second/ }).waitFor()
  t.same(await findingsOf(page), [])
  t.same(errors, [])
})

t.test('providers: failures with the provider’s words, and trying now', { skip }, async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const stand = await openConsole(t, { config: configFor(providerAt(upstream.url)) })
  const { signIn, open, page, errors } = stand
  upstream.script(refusal(500))
  await chat(stand, { model: 'chat' })
  await signIn()
  await open('/providers')
  await page.getByText(/The server had an error/).waitFor()
  t.same(await findingsOf(page), [])
  await page.getByRole('button', { name: 'Try now' }).click()
  await page.getByRole('status').filter({ hasText: /\S/ }).first().waitFor()
  await page.getByRole('link', { name: 'Request', exact: true }).click()
  await page.getByText('500').first().waitFor()
  t.same(errors, [])
})

t.test('media and jobs: empty, then a gallery, and the steps of a job, at 390 px', { skip }, async t => {
  const { signIn, open, page, errors, url, headers } = await openConsole(t, { width: 390 })
  await signIn()
  await open('/media')
  await page.getByRole('heading', { name: 'Nothing is kept' }).waitFor()
  await open('/jobs')
  await page.getByRole('heading', { name: 'No jobs yet' }).waitFor()
  const post = async (path: string, body: object): Promise<void> => {
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    await response.text()
    t.equal(response.status, 200)
  }
  await post('/images/generations', { model: 'sandbox-image', prompt: 'a ball', size: '64x64' })
  await post('/videos', { model: 'sandbox-video', prompt: 'a ball', seconds: '2' })
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByRole('row').nth(1).click()
  await page.getByText('succeeded').waitFor()
  t.match(await page.getByLabel('Steps').innerText(), /created[^]*submitted[^]*stored[^]*charged/)
  t.same(await findingsOf(page), [])
  t.notOk(await isTooWide(page))
  await open('/media')
  await page.getByRole('img', { name: /^Image/ }).waitFor()
  await page.getByLabel(/^Video/).waitFor()
  await sleep(100)
  t.equal(await page.getByText('no longer there').count(), 0)
  t.same(await findingsOf(page), [])
  t.notOk(await isTooWide(page))
  t.same(errors, [])
})

t.test('jobs: cancelling needs the id', { skip }, async t => {
  const { signIn, open, page, errors, url, headers } = await openConsole(t)
  const response = await fetch(`${url}/videos`, {
    method: 'POST', headers, body: JSON.stringify({ model: 'sandbox-video', prompt: 'a ball', seconds: '8' })
  })
  const { id } = await response.json() as { id: string }
  await signIn()
  await open(`/jobs/${id}`)
  await page.getByRole('button', { name: 'Cancel…' }).click()
  const button = page.getByRole('button', { name: 'Cancel the job' })
  t.ok(await button.isDisabled())
  await page.getByLabel(/to confirm/).fill(id)
  await button.click()
  await page.getByText('cancelled').first().waitFor()
  t.same(errors, [])
})

t.test('a role without the right to a page is told so', { skip }, async t => {
  const { signIn, open, page, errors, key } = await openConsole(t)
  await signIn(key)
  await page.goto(page.url().replace(/console.*/, 'console/providers'))
  await page.getByRole('heading', { name: 'There is nothing here for your key' }).waitFor()
  t.equal(await page.getByRole('link', { name: 'Providers' }).count(), 0)
  await open('/requests')
  t.same(errors, [])
})
