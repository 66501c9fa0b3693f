import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Webhook as Judge } from 'standardwebhooks'
import { createClientPresence } from '../../../../services/requests/joins/client-presence.ts'
import type { Network } from '../../../../services/media/public-connector.ts'
import type { Store } from '../../../../services/store/store.ts'
import { createVideoLibrary } from '../../../../services/videos/library.ts'
import { createJobRows } from '../../../../services/videos/rows.ts'
import type { Job } from '../../../../services/videos/job.ts'
import { releaseWebhooks, webhooksOf } from '../../../../services/videos/webhooks/webhook-rows.ts'
import { startWebhookDelivery } from '../../../../services/videos/webhooks/webhook-delivery.ts'
import { rotateWebhookSecret, webhookSecrets } from '../../../../services/videos/webhooks/secrets.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { createBooks } from '../../billing/ledger/helper.ts'
import { internetOf, startPlainSite, startSite, type Site } from '../../media/web.ts'
import { sampleJob } from '../jobs.ts'
import { secretBox } from '../../../helpers/secret-box.ts'
import { until } from '../../../helpers/until.ts'

const log = { info () {}, warn () {}, error () {} }
const network = internetOf({ 'cdn.example': ['127.0.0.1'], 'other.example': ['127.0.0.1'], 'private.example': ['10.0.0.1'] })

async function setUp (open: () => Promise<Store>) {
  const store = await open()
  await createBooks(store, { acme: 1000, budget: 1000, other: 1000 })
  const clientPresence = createClientPresence({ kind: 'job', store, node: 'node', takeoverMs: 1000 })
  const rows = createJobRows(store, 'node', clientPresence)
  return {
    store,
    rows,
    async add (url: string | null, more: Partial<Job> = {}): Promise<Job> {
      const job = sampleJob({ account: 'acme', owner: 'node', background: 2, ...more })
      await store.transaction(queries => rows.insert(queries, job, `${job.id} 1`, url))
      return job
    },
    /** Ends a job as `endJob` does. */
    async end (job: Job, state: 'succeeded' | 'failed' | 'cancelled' | 'expired' = 'succeeded'): Promise<void> {
      await store.transaction(async queries => {
        await rows.change(job, { state, finishedAt: 5_000 }, queries)
        const ended = await rows.get(job.id, queries)
        if (ended !== undefined) await releaseWebhooks(queries, ended)
      })
    },
    deliver (t: Test, options: { network?: Network, trustedOrigins?: string[] } = {}) {
      const given = { trustedOrigins: [], network, ...options }
      const delivery = startWebhookDelivery({ store, secretBox, log, everyMs: 5, ...given })
      t.teardown(() => delivery.close())
      return delivery
    }
  }
}

interface Received { path: string, body: string, headers: Record<string, string> }

async function startReceiver (t: Test, statuses: number[], start: typeof startSite = startSite) {
  const received: Received[] = []
  const site: Site = await start(t, async (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
    received.push({ path: request.url ?? '', body: await text(request), headers: Object.fromEntries(headers) })
    response.writeHead(statuses.shift() ?? 204, { location: 'https://cdn.example/' }).end()
  })
  return { received, url: `https://cdn.example:${site.port}/hook` }
}

forEachEngine(t, 'the end of a job is told once, by one of many nodes, with its signature', async (t, { open }) => {
  const { store, add, end, deliver } = await setUp(open)
  const { received, url } = await startReceiver(t, [])
  const job = await add(url)
  const nodes = Array.from({ length: 4 }, () => deliver(t))
  t.match(await webhooksOf(store, [job.id]), [{ type: null, attempts: 0, nextAttemptAt: null }])
  await end(job)
  await until(async () => (await webhooksOf(store, [job.id]))[0]?.deliveredAt != null)
  const [webhook] = await webhooksOf(store, [job.id])
  t.match(webhook, { url, type: 'video.completed', attempts: 1, nextAttemptAt: null, lastError: null })
  t.equal(received.length, 1)
  const { body = '', headers = {} } = received[0] ?? {}
  const { current } = await webhookSecrets(store, secretBox, 'acme', store.clock())
  t.strictSame(new Judge(current).verify(body, headers), {
    object: 'event', id: webhook?.id, type: 'video.completed', created_at: 5, data: { id: job.id }
  })
  t.equal(headers['webhook-id'], webhook?.id)
  t.throws(() => new Judge(`whsec_${randomBytes(32).toString('base64')}`).verify(body, headers))
  t.equal(nodes.reduce((sum, { counts }) => sum + counts.delivered, 0), 1)
})

forEachEngine(t, 'each way to fail is a failed video, and each server of a job is told', async (t, { open }) => {
  const { store, rows, add, end, deliver } = await setUp(open)
  const { received, url } = await startReceiver(t, [])
  const states = ['failed', 'cancelled', 'expired'] as const
  const jobs: Job[] = []
  for (const state of states) {
    const job = await add(`${url}/${state}`, { id: `job_${state}` })
    jobs.push(job)
    t.equal(await rows.addWebhook(job.id, `${url}/2`, store.clock()), true)
    t.equal(await rows.addWebhook(job.id, `${url}/2`, store.clock()), true, 'one row for a URL')
    await end(job, state)
    t.equal(await rows.addWebhook(job.id, `${url}/late`, store.clock()), true)
  }
  deliver(t)
  await until(() => received.length === 9)
  const told = received.map(({ path, body }) => `${path} ${JSON.parse(body).type} ${JSON.parse(body).data.id}`)
  t.strictSame(told.toSorted(), states.flatMap(state => [state, '2', 'late'].map(path => `/hook/${path} video.failed job_${state}`)).toSorted())
  t.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 9)
  for (let count = 3; count < 10; count++) t.equal(await rows.addWebhook('job_failed', `${url}/${count}x`, 1), true)
  t.equal(await rows.addWebhook('job_failed', `${url}/11`, 1), false, 'at most ten')
})

forEachEngine(t, 'what fails is sent again with the same id, and given up in the end', async (t, { open }) => {
  const { store, add, end, deliver } = await setUp(open)
  const { received, url } = await startReceiver(t, [500, 302, 404, 429, 503, 500, 500, 410])
  const job = await add(url)
  await end(job)
  const delivery = deliver(t)
  for (let count = 1; count <= 8; count++) {
    await until(async () => (await webhooksOf(store, [job.id]))[0]?.lastError != null)
    t.equal(received.length, count)
    const [webhook] = await webhooksOf(store, [job.id])
    t.match(webhook, { attempts: count, lastError: /HTTP \d{3}$/, deliveredAt: null })
    t.equal(webhook?.nextAttemptAt === null, count === 8)
    await store.run('update webhook set last_error = null, next_attempt_at = 0 where next_attempt_at is not null')
  }
  t.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1)
  t.strictSame(delivery.counts, { delivered: 0, failed: 8, givenUp: 1 })
})

forEachEngine(t, 'a private address is never called: by its number, its name, or after a redirect', async (t, { open }) => {
  const { store, add, end, deliver } = await setUp(open)
  const inside = await startPlainSite(t, (_request, response) => { response.end() })
  const rebinding = internetOf({ 'cdn.example': ['93.184.216.34'], 'private.example': ['10.0.0.1'], 'both.example': ['93.184.216.34', '127.0.0.1'] })
  const guarded: Network = { ...rebinding, isPublic: address => address === '93.184.216.34' }
  // They were stored when their origins were trusted, or their names had public addresses.
  const urls = [
    `http://127.0.0.1:${inside.port}/`, `https://127.0.0.1:${inside.port}/`, 'https://private.example/', 'https://[::1]/', 'https://both.example/',
    'https://unknown.example/'
  ]
  for (const [index, url] of urls.entries()) await end(await add(url, { id: `job_${index}` }))
  const guard = deliver(t, { network: guarded })
  await until(async () => (await store.all('select id from webhook where last_error is not null')).length === urls.length)
  for (const { last_error: error } of await store.all<{ last_error: string }>('select last_error from webhook')) {
    t.match(error, /^the URL (is not an HTTPS URL|does not lead to a public address)$/, 'the same for names that are unknown')
  }
  t.equal(inside.connections(), 0)
  await guard.close()

  const redirecting = await startSite(t, (_request, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${inside.port}/` }).end()
  })
  const job = await add(`https://cdn.example:${redirecting.port}/`, { id: 'job_redirect' })
  await end(job)
  const other = deliver(t)
  await until(async () => (await webhooksOf(store, [job.id]))[0]?.lastError != null)
  t.match(await webhooksOf(store, [job.id]), [{ lastError: /HTTP 307/ }])
  await other.close()
  t.equal(inside.connections(), 0)

  const trusted = await add(`http://127.0.0.1:${inside.port}/ok`, { id: 'job_trusted' })
  await end(trusted)
  deliver(t, { trustedOrigins: [`http://127.0.0.1:${inside.port}`] })
  await until(() => inside.requests.length === 1)
  t.equal(inside.requests[0]?.url, '/ok')
})

forEachEngine(t, 'a server that does not answer delays no other account', async (t, { open }) => {
  const { store, add, end, deliver } = await setUp(open)
  let waiting = 0
  const tarpit = await startSite(t, () => { waiting += 1 })
  const { received, url } = await startReceiver(t, [])
  for (let index = 0; index < 50; index++) await end(await add(`https://cdn.example:${tarpit.port}/`, { id: `job_${index}` }))
  await end(await add(url, { id: 'job_other', account: 'other' }))
  const delivery = deliver(t)
  await until(() => delivery.counts.delivered === 1 && waiting >= 4)
  t.equal(received.length, 1)
  t.equal(waiting, 4)
  await delivery.close()
  t.match(await store.all('select count(*) as n from webhook where attempts = 0 and next_attempt_at is not null'), [{ n: 50 }],
    'what a closing node breaks off counts for nothing')
})

forEachEngine(t, 'both secrets sign while one is replaced', async (t, { open }) => {
  const { store, add, end, deliver } = await setUp(open)
  const { received, url } = await startReceiver(t, [])
  const { current: old } = await webhookSecrets(store, secretBox, 'acme', store.clock())
  const { current } = await store.transaction(queries => rotateWebhookSecret(queries, secretBox, 'acme', store.clock()))
  await end(await add(url))
  deliver(t)
  await until(() => received.length === 1)
  const { body = '', headers = {} } = received[0] ?? {}
  t.equal(headers['webhook-signature']?.split(' ').length, 2)
  for (const secret of [old, current]) t.match(new Judge(secret).verify(body, headers), { type: 'video.completed' })
})

forEachEngine(t, 'a deleted video is not told of, and its webhooks are deleted with its job', async (t, { open }) => {
  const { store, rows, add, end } = await setUp(open)
  const library = createVideoLibrary(store)
  const early = await add('https://cdn.example/', { id: 'job_early' })
  const late = await add('https://cdn.example/', { id: 'job_late' })
  t.equal(await library.remove('acme', early.id), true)
  await end(early)
  await end(late)
  t.match(await webhooksOf(store, [late.id]), [{ nextAttemptAt: Number }])
  t.equal(await library.remove('acme', late.id), true)
  t.match(await webhooksOf(store, [early.id, late.id]), [1, 2].map(() => ({ nextAttemptAt: null, lastError: /deleted/, attempts: 0 })))
  await rows.prune(5_001)
  t.strictSame(await webhooksOf(store, [early.id, late.id]), [])
  t.equal(await rows.get(late.id), undefined)
})
