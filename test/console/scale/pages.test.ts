import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { seed } from '../../helpers/seed.ts'
import { openConsole, settled, skip, type Stand } from '../stand.ts'

// Each page with many rows; `CONSOLE_SCALE=full` has 100,000 keys, 1,000,000 requests and 10,000 jobs.

const isFull = process.env['CONSOLE_SCALE'] === 'full'
const rows = { keys: 100_000, requests: 1_000_000, entries: 1_000_000, audit: 100_000 }
const others = { accounts: 1000, jobs: 10_000, media: 10_000 }
const part = isFull ? 1 : 0.05
const counts = Object.fromEntries(
  Object.entries({ ...rows, ...others }).map(([name, count]) => [name, count * part]))
const maxMs = 1000
/** Reports of a busy machine; of media, the browser asks for fifty files. */
const maxOf: Readonly<Record<string, number>> = { usage: 5000, media: 5000 }
/** The machine may be busy: the best of these counts. */
const tries = 3

const paths = [
  'now', 'requests', 'requests?status=5xx', 'requests?outcome=failed', 'requests?model=auto', 'requests?model=none',
  'requests?provider=none', 'requests?key=seed7', 'requests?account=default&status=200', 'usage', 'usage?by=key&days=90', 'accounts',
  'accounts?search=seeded 99', 'accounts/default', 'accounts/default?kind=deposit', 'keys', 'keys?search=seeded 99', 'keys/seed7',
  'statements', 'accounts/default/holds', 'requests?to=2020-01-01T00:00:00Z', 'media', 'media?kind=video', 'jobs', 'jobs?state=failed', 'jobs?model=none', 'jobs/job_seed7', 'providers', 'alerts',
  'audit', 'audit?actor=none', 'audit?action=credit.refund', 'playground'
]

/** Milliseconds from the start of the navigation: until the first paint, and until the page has its rows. */
async function timesOf ({ open, page }: Stand, path: string): Promise<{ painted: number, loaded: number }> {
  await open(`/${path}`)
  const loaded: number = await page.evaluate('performance.now()')
  await settled(page)
  const painted: number = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
  return { painted, loaded }
}

t.test(`scale: ${counts['requests']} requests, ${counts['keys']} keys, ${counts['jobs']} jobs`, { skip }, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-scale-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  // Reports on a file have threads of their own.
  const stand = await openConsole(t, { env: { DATABASE_URL: `sqlite:${join(folder, 'books.db')}` } })
  await seed(stand.app.store, counts)
  await stand.signIn()
  for (const path of paths) {
    const [page = ''] = path.split('?')
    const maxLoadedMs = maxOf[page] ?? maxMs
    let best = { painted: Infinity, loaded: Infinity }
    for (let count = 0; count < tries && (best.painted >= maxMs || best.loaded >= maxLoadedMs); count++) {
      const { painted, loaded } = await timesOf(stand, path)
      best = { painted: Math.min(painted, best.painted), loaded: Math.min(loaded, best.loaded) }
    }
    const words = `${path}: painted after ${Math.round(best.painted)} ms, loaded after ${Math.round(best.loaded)} ms`
    t.comment(words)
    t.ok(best.painted < maxMs && best.loaded < maxLoadedMs, words)
  }
  // The seeded images have no files.
  t.same(stand.errors.filter(error => !/404.*\/v1\/media\//.test(error)), [])
})
