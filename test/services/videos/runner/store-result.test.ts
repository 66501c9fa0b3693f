import t, { type Test } from 'tap'
import { createDownloader } from '../../../../services/media/download.ts'
import { UpstreamError } from '../../../../services/shared/errors.ts'
import { createS3BlobStore } from '../../../../services/media/s3.ts'
import { createMediaStore } from '../../../../services/media/store.ts'
import { createUrlSigner } from '../../../../services/media/url-signer.ts'
import type { Store } from '../../../../services/store/store.ts'
import type { Timing } from '../../../../services/videos/runner/runner-context.ts'
import { createDatabase, forEachEngine } from '../../../helpers/engines.ts'
import { startFaultyS3 } from '../../media/faulty-s3.ts'
import { credentials } from '../../media/s3-server.ts'
import { internetOf, startSite } from '../../media/web.ts'
import { createProvider, fileOf, twoSeconds, unreachable } from '../provider.ts'
import { checkBooks, createMedia, jobsIn, openAccount, startStudio, type Answer } from '../studio.ts'
import { runningMs } from '../../../helpers/running-time.ts'
import { until } from '../../../helpers/until.ts'

type Options = Parameters<typeof startStudio>[2]

/** A node whose provider makes every video at once. */
async function createTest (t: Test, store: Store, { timing, ...options }: Options = {}) {
  await openAccount(store)
  const [provider, media] = [createProvider({ cancels: true }), createMedia()]
  if (timing === short) Object.assign(provider.polling, { deadlineMs: 1_000 })
  const studio = await startStudio(t, store, {
    makers: { provider }, media, timing: { storeMs: 60_000, ...timing }, ...options
  })
  return {
    ...studio,
    provider,
    media,
    async order (...videos: Parameters<typeof fileOf>[0][] | { url: string }[]): Promise<Answer> {
      const submitted = provider.nextSubmit()
      const asked = studio.ask({ messages: [{ role: 'user', content: String(performance.now()) }] })
      provider.finish(await submitted, { videos: videos.map(one => 'url' in one ? one : fileOf(one)) })
      return await asked
    },
    suspense: async () => await store.all("select amount, reason from entry where kind = 'suspense'"),
    job: async () => (await jobsIn(store)).at(-1)
  }
}

const unverified = [{ amount: Number, reason: 'unverified' }]
/** A deadline within a second. */
const short: Partial<Timing> = { storeMs: 1_000 }

/** A site on the test's Internet, and the downloader that reaches it. */
async function createCdn (t: Test, status: () => number) {
  const site = await startSite(t, (_request, response) => { response.writeHead(status()).end(twoSeconds) })
  const network = internetOf({ 'cdn.example': ['127.0.0.1'] })
  const { download, close } = createDownloader({ trustedOrigins: () => new Set(), network })
  t.teardown(close)
  return { download, site, file: { url: `https://cdn.example:${site.port}/a.mp4` } }
}

forEachEngine(t, 'an address that is dead is not delivered: nothing is charged, and it is in suspense', async (t, { open }) => {
  const store = await open()
  let status = 404
  const { download, file, site } = await createCdn(t, () => status)
  const { order, suspense, ledger, job } = await createTest(t, store, { download })
  for (status of [404, 410, 403]) {
    const { status: answered, body } = await order(file)
    t.match([answered, body.error.code], [502, 'upstream_result_lost'], `${status}`)
  }
  t.equal(site.requests.length, 15, 'five attempts each')
  t.match(await suspense(), [...unverified, ...unverified, ...unverified])
  t.match(await ledger.balance('paying'), { spentNano: 0, heldNano: 0 })
  t.match(await job(), { state: 'failed', copyError: null, videos: [] })
  await checkBooks(t, store)
})

t.test('what is no video, too private, or has an unknown host is lost too', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const { download } = await createCdn(t, () => 200)
  const { order, ledger, suspense } = await createTest(t, store, { download, timing: short })
  for (const url of ['https://10.0.0.1/a.mp4', 'http://cdn.example/a.mp4', 'https://gone.example/a.mp4', 'https://cdn.example:9/a.mp4']) {
    t.match((await order({ url })).body.error.code, 'upstream_result_lost', url)
  }
  t.equal((await suspense()).length, 4)
  t.match(await ledger.balance('paying'), { spentNano: 0, heldNano: 0 })
})

t.test('a provider that is overloaded or cannot be reached for a while is asked again until the deadline', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const statuses = [503, 429, 500, 502, 503, 503, 503, 503]
  const { download, file, site } = await createCdn(t, () => statuses.shift() ?? 200)
  const { order, ledger } = await createTest(t, store, { download })
  t.equal((await order(file)).status, 200)
  t.equal(site.requests.length, 9)
  t.match(await ledger.balance('paying'), { spentNano: 200_000_000, heldNano: 0 })
})

forEachEngine(t, 'a store that fails is tried again, visibly, without asking the provider again', async (t, { open }) => {
  const store = await open()
  const faults: string[] = []
  const { order, media, provider, ledger, job, logged } = await createTest(t, store, {
    timing: { maxBackoffMs: 20 }, onCopyFailure: fault => { faults.push(fault) }
  })
  media.failures = Infinity
  const asked = order(twoSeconds)
  await until(() => media.attempts > 8)
  await until(async () => ((await job())?.copyError?.attempts ?? 0) > 3)
  t.match(await job(), {
    state: 'storing', copyError: { fault: 'media_store', message: 'Error: ENOSPC: no space left on device, write', since: Number }
  })
  t.match(await ledger.balance('paying'), { spentNano: 0, heldNano: Number }, 'nothing is charged yet')
  const polls = provider.polls
  await until(() => media.attempts > 12)
  t.equal(provider.polls, polls)
  media.failures = 0
  const { status, body } = await asked
  t.match([status, body.usage.cost], [200, 0.2])
  t.match(await job(), { state: 'succeeded', copyError: null })
  t.equal(media.pending, 0)
  t.ok(faults.length > 8 && faults.every(fault => fault === 'media_store'))
  t.ok(logged.some(([level, message]) => level === 'error' && message === 'a video could not be copied'))
  await checkBooks(t, store)
})

t.test('at the deadline of a store that failed to the end, nothing is charged', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const { order, media, ledger, suspense } = await createTest(t, store, { timing: short })
  media.failures = Infinity
  const { status, body } = await order(twoSeconds)
  t.match([status, body.error.code], [503, 'media_store_unavailable'])
  t.match(await suspense(), unverified)
  t.match(await ledger.balance('paying'), { spentNano: 0, heldNano: 0 })
  t.equal(media.pending, 0)
  await checkBooks(t, store)
})

t.test('then a public address that works is passed on, and one that has died meanwhile is not', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  let status = 200
  const { download, file } = await createCdn(t, () => status)
  const { order, media, ledger, suspense } = await createTest(t, store, { download, timing: short })
  media.failures = Infinity
  const [video] = (await order(file)).body.choices[0].message.videos
  t.match(video, { video_url: file, stored: false })
  t.ok((await ledger.balance('paying')).spentNano > 0)
  t.same(await suspense(), [])
  media.failures = Infinity
  const asked = order(file)
  await until(() => media.pending > 0)
  status = 410
  t.match((await asked).body.error.code, 'media_store_unavailable')
  t.match(await suspense(), unverified)
  await checkBooks(t, store)
})

t.test('of several videos only those that failed are copied again', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const { order, media } = await createTest(t, store)
  media.failures = 2
  const { status, body } = await order(twoSeconds, twoSeconds, twoSeconds)
  t.equal(status, 200)
  t.equal(body.choices[0].message.videos.length, 3)
  t.equal(media.attempts, 5)
  t.equal(media.stored.size, 3)
})

t.test('a video that is cancelled while it is copied was made, whatever the provider answers', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const { order, media, suspense } = await createTest(t, store)
  media.failures = Infinity
  const asked = order(twoSeconds)
  await until(() => media.attempts > 1)
  await store.run('update job set cancel = 1')
  t.match((await asked).body.error.code, 'job_cancelled')
  t.match(await suspense(), unverified)
  t.equal(media.pending, 0)
})

const denied = () => new UpstreamError('auth', 'yes', 'no', { status: 401 })
const forbidden = () => new UpstreamError('bad_request', 'yes', 'no', { status: 403 })
const unknown = () => new UpstreamError('not_found', 'yes', 'no', { status: 404 })

for (const [name, error, code] of [
  ['401', denied, 'upstream_auth'], ['403', forbidden, null], ['404', unknown, 'upstream_job_lost']
] as const) {
  t.test(`a poll answered with ${name} does not end a job; if it lasts, the job ends with suspense`, async t => {
    const store = await (await createDatabase(t, 'sqlite')).open()
    const timing = { refusedMs: 400, newMs: 400, backoffMs: 1, maxBackoffMs: 5 }
    const { ask, provider, suspense } = await createTest(t, store, { timing })
    const submit = async (content: string) => {
      const submitted = provider.nextSubmit()
      const asked = ask({ messages: [{ role: 'user', content }] })
      return { asked, handle: await submitted }
    }
    const first = await submit('one')
    provider.pollErrors.push(error(), error(), unreachable(), error())
    await until(() => provider.pollErrors.length === 0)
    provider.finish(first.handle)
    t.equal((await first.asked).status, 200)
    const second = await submit('two')
    provider.pollErrors.push(...Array.from({ length: 10_000 }, error))
    t.match((await second.asked).body.error.code, code)
    t.match(await suspense(), unverified)
    await checkBooks(t, store)
  })
}

t.test('a node whose bucket is silent still closes, and another one stores the video', async t => {
  const database = await createDatabase(t, 'sqlite')
  const [one, other] = [await database.open(), await database.open()]
  const s3 = await startFaultyS3(t, 'silent')
  const bucket = { bucket: 'media', prefix: '', region: null, credentials, endpoint: s3.endpoint }
  const mediaOn = (store: Store) => {
    const blobs = createS3BlobStore(bucket)
    t.teardown(() => blobs.close())
    return createMediaStore({ store, blobs, signer: createUrlSigner(['a key for tests only']), retentionMs: 60_000 })
  }
  const first = await createTest(t, one, { media: mediaOn(one) })
  const submitted = first.provider.nextSubmit()
  const asked = first.ask()
  first.provider.finish(await submitted)
  await until(() => s3.received >= twoSeconds.length)
  const startMs = runningMs()
  await first.close()
  t.ok(runningMs() - startMs < 5_000, 'although the bucket never answers')
  t.equal((await asked).status, 503)
  t.match(await jobsIn(other), [{ state: 'storing', owner: null }])
  s3.mood = 'discards'
  const media = createMedia()
  const second = await startStudio(t, other, { makers: { provider: first.provider }, media })
  t.equal((await second.ask({}, { 'x-stainless-retry-count': '1' })).status, 200)
  t.equal(first.provider.submits.length, 1)
  await checkBooks(t, other)
})

t.test('a step that never ends does not keep a node from closing', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const { ask, provider, close } = await createTest(t, store, { closeMs: 200 })
  const submitted = provider.nextSubmit()
  const asked = ask()
  await submitted
  const polled = Promise.withResolvers<void>()
  const never = Promise.withResolvers<never>()
  provider.poll = async () => {
    polled.resolve()
    return await never.promise
  }
  await polled.promise
  await close()
  t.equal((await asked).status, 503)
  t.match(await jobsIn(store), [{ owner: null }])
})

t.test('a picture that the gateway cannot store is not the client\'s fault', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await openAccount(store)
  const [provider, media] = [createProvider({ pictures: 'url' }), createMedia()]
  const { ask, ledger } = await startStudio(t, store, { makers: { provider }, media })
  const content = [
    { type: 'text' as const, text: 'a ball' },
    { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgoAAAAA' } }
  ]
  media.failures = Infinity
  const { status, body } = await ask({ messages: [{ role: 'user', content }] })
  t.match([status, body.error.code], [503, 'media_store_unavailable'])
  t.equal(provider.submits.length, 0)
  t.match(await ledger.balance('paying'), { spentNano: 0, heldNano: 0 })
  t.same(await store.all("select seq from entry where kind = 'suspense'"), [])
  media.failures = 2
  const submitted = provider.nextSubmit()
  const asked = ask({ messages: [{ role: 'user', content }] })
  provider.finish(await submitted)
  t.equal((await asked).status, 200)
})
