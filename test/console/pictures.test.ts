import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import { chat, isTooWide, openConsole, skip } from './stand.ts'

// Writes the pictures of docs/console.md if CONSOLE_PICTURES is set; else it only looks at the pages.

const folder = join(import.meta.dirname, '..', '..', 'docs', 'console')
const isWriting = process.env['CONSOLE_PICTURES'] !== undefined
const maxBytes = 100_000

const looks = [
  { name: 'wide-light', width: 1280, colorScheme: 'light' }, { name: 'narrow-dark', width: 390, colorScheme: 'dark' }
] as const
/** Those in docs/console.md. */
const shown = ['requests', 'playground', 'usage', 'now']
const pages = ['now', 'requests', 'playground', 'usage', 'accounts', 'keys', 'media', 'jobs', 'providers', 'routing']

for (const { name: look, width, colorScheme } of looks) {
  t.test(`pictures: every page, ${look}`, { skip }, async t => {
    const stand = await openConsole(t, { width, colorScheme })
    const { page, errors, url, headers, admin, key, open } = stand
    for (let count = 1; count < 12; count++) {
      await chat(stand, { messages: [{ role: 'user', content: `Say: "${'a gateway '.repeat(count)}"` }] })
    }
    await chat(stand, { model: 'none' })
    const body = JSON.stringify({ model: 'sandbox-image', prompt: 'a lighthouse', size: '512x384' })
    await fetch(`${url}/images/generations`, { method: 'POST', headers, body })
    await admin('POST', '/accounts', { id: 'team-a', name: 'Team A' })
    await admin('POST', '/accounts/team-a/deposits', { amount_usd: 25 })
    await admin('POST', '/keys', { account: 'team-a', label: 'Shop', budget: { amount_usd: 20, period: 'month' } })
    await stand.signIn()
    await page.evaluate(`fetch('/console/session').then(response => response.json()).then(session => fetch('/console/session/key', {
      method: 'PUT', body: '${JSON.stringify({ key })}', headers: { 'content-type': 'application/json', 'x-csrf-token': session.csrf_token }
    }))`)
    for (const name of pages) {
      await open(`/${name}`)
      if (name === 'playground' || name === 'routing') {
        await page.getByLabel('Prompt', { exact: true }).fill('Say: "A gateway is one address for many models."')
        await page.keyboard.press('Control+Enter')
        await page.getByRole('region', { name: name === 'routing' ? 'Candidates of auto' : 'Outcome', exact: true }).waitFor()
      }
      t.notOk(await isTooWide(page), name)
      const picture = await sharp(await page.screenshot()).png({ palette: true, colours: 64 }).toBuffer()
      t.ok(picture.length < maxBytes, `${name}: ${picture.length} bytes`)
      if (!isWriting || !shown.includes(name)) continue
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `${name}-${look}.png`), picture)
    }
    t.same(errors, [])
  })
}
