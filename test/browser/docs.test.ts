import t from 'tap'
import { openPage, problemsOf, skip } from '../helpers/chromium.ts'
import { startGateway } from '../helpers/gateway.ts'

t.test('the page can be read in a browser, and tries an operation out with a key', { skip }, async t => {
  const { url, key } = await startGateway(t)
  const page = await openPage(t)
  const problems = problemsOf(page)
  await page.goto(url.replace(/\/v1$/, '/docs/#tag/models/GET/v1/models'))
  await page.locator('button', { hasText: '(get /v1/models)' }).click()
  await page.getByRole('dialog').getByPlaceholder('Token').fill(key)
  await page.locator('button', { hasText: 'Send Request' }).click()
  await page.getByRole('dialog').getByText('"auto"').first().waitFor()
  t.ok(await page.getByRole('dialog').getByText('200 OK').isVisible())
  t.same(problems, [])
})
