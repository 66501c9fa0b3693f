import t from 'tap'
import { adminKey, findingsOf, openConsole, skip } from './stand.ts'

/** The browser itself logs an answer of 401. */
const besides401 = (errors: string[]): string[] => errors.filter(error => !/status of 401/.test(error))

t.test('sign-in: a wrong key is refused in words, the right one goes on where one was', { skip }, async t => {
  const { page, errors, console } = await openConsole(t)
  await page.goto(`${console}/requests?status=404`)
  const key = page.getByLabel('Key')
  await key.waitFor()
  await page.getByText('For the whole gateway: npx tollgate keys create --role owner').waitFor()
  t.same(await findingsOf(page), [])
  await key.fill('sk-wrong')
  await page.keyboard.press('Enter')
  t.match(await page.getByRole('alert').innerText(), /not valid here/)
  t.equal(await key.inputValue(), '')
  await key.fill(adminKey)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Requests' }).waitFor()
  t.match(page.url(), /status=404/)
  t.notMatch(await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])'), adminKey)
  t.same(besides401(errors), [])
})

t.test('sign-in: an ended session asks again, and signing out ends it', { skip }, async t => {
  const { page, errors, signIn, open } = await openConsole(t)
  await signIn()
  await open('/requests')
  await page.context().clearCookies()
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByText('Your session has ended').waitFor()
  await page.getByLabel('Key').fill(adminKey)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Key').waitFor()
  await page.reload()
  await page.getByLabel('Key').waitFor()
  t.same(besides401(errors), [])
})

t.test('sign-in: the palette signs out everywhere', { skip }, async t => {
  const { page, errors, signIn, open } = await openConsole(t)
  await signIn()
  await open('/requests')
  await page.keyboard.press('Control+k')
  await page.getByLabel('Page, id or name').fill('sign out')
  await page.getByRole('option', { name: 'Sign out everywhere' }).click()
  await page.getByLabel('Key').waitFor()
  await page.reload()
  await page.getByLabel('Key').waitFor()
  t.same(errors, [])
})

t.test('sign-in: an identity provider has a button', { skip }, async t => {
  const oidc = { label: 'Example Inc.', path: '/console/sign-in/oidc' }
  const { page, errors, console } = await openConsole(t)
  await page.route('**/console/session', async route => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...await response.json(), oidc } })
  })
  await page.goto(console)
  const button = page.getByRole('link', { name: 'Sign in with Example Inc.' })
  await button.waitFor()
  t.equal(await button.getAttribute('href'), oidc.path)
  t.same(await findingsOf(page), [])
  t.same(errors, [])
})

/** Resolves in the page with the time of its first contentful paint, in milliseconds. */
const firstPaint = `new Promise(resolve => {
  const observer = new PerformanceObserver(list => {
    for (const { startTime } of list.getEntriesByName('first-contentful-paint')) resolve(startTime)
  })
  observer.observe({ type: 'paint', buffered: true })
})`

t.test('sign-in: the first paint comes within 300 ms', { skip }, async t => {
  const { page, console } = await openConsole(t)
  await page.goto(console)
  const times: number[] = []
  for (let count = 0; count < 3; count++) {
    await page.reload()
    await page.getByLabel('Key').waitFor()
    times.push(await page.evaluate(firstPaint))
  }
  t.comment(`first contentful paint: ${times.map(Math.round).join(', ')} ms`)
  t.ok(Math.min(...times) < 300, times.join())
})
