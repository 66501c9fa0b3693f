import t from 'tap'
import { openPage, problemsOf, skip } from '../helpers/chromium.ts'
import { startGateway } from '../helpers/gateway.ts'

t.test('the page is read in a browser and leads to the reference', { skip }, async t => {
  const { url } = await startGateway(t)
  const page = await openPage(t)
  const problems = problemsOf(page)
  await page.goto(`${url.replace(/\/v1$/, '')}/`)
  t.ok(await page.getByText(`Base URL: ${url}`).isVisible())
  await page.getByText('Reference').click()
  await page.waitForURL(/\/docs\/$/)
  t.same(problems, [])
})
