import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import { fillGateway, type Example } from './example.ts'
import { findingsOf, isTooWide, layoutShift, openConsole, settled, skip, slowDown, type Stand } from './stand.ts'

// Looks at every page in every look, and writes the pictures of docs/console.md if CONSOLE_PICTURES is set.

const folder = join(import.meta.dirname, '..', '..', 'docs', 'console')
const isWriting = process.env['CONSOLE_PICTURES'] !== undefined
const maxBytes = 80_000
const maxBytesOfAll = 3_000_000
const maxShift = 0.05

const looks = [
  { name: 'wide-light', width: 1280, colorScheme: 'light' },
  { name: 'wide-dark', width: 1280, colorScheme: 'dark' },
  { name: 'narrow-light', width: 390, colorScheme: 'light' },
  { name: 'narrow-dark', width: 390, colorScheme: 'dark' }
] as const

interface View {
  name: string
  /** What is done before the page is opened. */
  prepare? (stand: Stand): Promise<unknown>
  path (example: Example): string
  /** What is done there before the picture. */
  act? (stand: Stand): Promise<unknown>
}

const prompt = async ({ page }: Stand, text = 'Say: "A gateway is one address for many models."'): Promise<void> => {
  await page.getByLabel('Prompt', { exact: true }).fill(text)
  await page.keyboard.press('Control+Enter')
}

const views: readonly View[] = [
  { name: 'now', path: () => '/now', act: async ({ page }) => await page.getByText('Requests per second').waitFor() },
  { name: 'requests', path: () => '/requests' },
  { name: 'request', path: ({ request }) => `/requests/${request}` },
  { name: 'failed-request', path: ({ failed }) => `/requests/${failed}` },
  {
    name: 'playground',
    path: () => '/playground',
    act: async stand => {
      await prompt(stand)
      await stand.page.getByRole('region', { name: 'Outcome' }).waitFor()
    }
  },
  {
    name: 'image-playground',
    path: () => '/playground?kind=image',
    act: async stand => {
      await prompt(stand, 'a lighthouse at dusk')
      await stand.page.getByRole('region', { name: 'Outcome' }).waitFor()
    }
  },
  { name: 'usage', path: () => '/usage' },
  { name: 'accounts', path: () => '/accounts' },
  { name: 'account', path: ({ account }) => `/accounts/${account}` },
  {
    name: 'settings',
    path: ({ account }) => `/accounts/${account}`,
    act: async ({ page }) => await page.getByRole('button', { name: 'Settings…' }).click()
  },
  { name: 'keys', path: () => '/keys' },
  { name: 'key', path: ({ key }) => `/keys/${key}` },
  { name: 'statements', path: () => '/statements' },
  { name: 'media', path: () => '/media' },
  { name: 'jobs', path: () => '/jobs' },
  { name: 'job', path: ({ job }) => `/jobs/${job}` },
  { name: 'providers', path: () => '/providers' },
  { name: 'alerts', path: () => '/alerts' },
  { name: 'audit', path: () => '/audit' },
  {
    name: 'palette',
    path: () => '/now',
    act: async ({ page }) => {
      await page.keyboard.press('Control+k')
      await page.keyboard.type('re')
      await page.getByRole('option', { name: 'Research' }).waitFor()
    }
  },
  { name: 'sign-in', prepare: async ({ page }) => await page.context().clearCookies(), path: () => '' }
]

t.test('pictures: docs/console.md shows each, and they are small', async t => {
  const text = readFileSync(join(folder, '..', 'console.md'), 'utf8')
  const names = views.flatMap(view => looks.map(look => `${view.name}-${look.name}.png`))
  t.same(names.filter(name => !text.includes(`"console/${name}"`)), [])
  t.same(readdirSync(folder).sort(), [...names].sort())
  const bytes = names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  t.ok(bytes < maxBytesOfAll, `${bytes} bytes`)
})

/** The picture with few colours, so that the documentation stays small. */
async function reduced (picture: Buffer): Promise<Buffer> {
  return await sharp(picture).png({ palette: true, colours: 48, effort: 10 }).toBuffer()
}

/** Run in the page: the key pays for what the operator tries out. */
const payWith = (key: string): string => `
  fetch('/console/session').then(response => response.json()).then(session => fetch('/console/session/key', {
    method: 'PUT',
    body: '${JSON.stringify({ key })}',
    headers: { 'content-type': 'application/json', 'x-csrf-token': session.csrf_token }
  }))`

for (const { name: look, ...window } of looks) {
  t.test(`pictures: every page, ${look}`, { skip }, async t => {
    const stand = await openConsole(t, window)
    const { page, errors, key, open } = stand
    const example = await fillGateway(stand)
    await stand.signIn()
    await page.evaluate(payWith(key))
    await slowDown(page)
    for (const { name, prepare, path, act } of views) {
      await prepare?.(stand)
      await open(path(example))
      await settled(page)
      const shift = await layoutShift(page)
      t.ok(shift < maxShift, `${name}: a layout shift of ${shift}`)
      await act?.(stand)
      t.same(await findingsOf(page), [], `${name}: axe`)
      t.notOk(await isTooWide(page), `${name}: as wide as its window`)
      const picture = await reduced(await page.screenshot())
      t.ok(picture.length < maxBytes, `${name}: ${picture.length} bytes`)
      if (!isWriting) continue
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `${name}-${look}.png`), picture)
    }
    t.same(errors, [])
  })
}
