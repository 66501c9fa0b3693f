import { createHash } from 'node:crypto'
import t from 'tap'
import { request } from 'undici'
import { checkLedger } from '../../../services/billing/ledger/check/check-books.ts'
import type { Gateway } from '../../helpers/gateway.ts'
import { create, ended, send, startVideoGateway } from './video-client.ts'
import { until } from '../../helpers/until.ts'

const now = 'a ball\nsandbox:delay 0'

/** A key of another account, which has money. */
async function otherClient ({ app, url }: Gateway): Promise<{ url: string, key: string }> {
  await app.accounts.create({ id: 'other' })
  await app.accounts.deposit({ id: 'first', account: 'other', amountNano: 1_000_000_000 })
  const { key } = await app.keys.create({ account: 'other', label: '' })
  return { url, key }
}

async function content (
  { url, key }: Pick<Gateway, 'url' | 'key'>, id: string, headers: Record<string, string> = {}, query = ''
) {
  const authorization = `Bearer ${key}`
  const answer = await request(`${url}/videos/${id}/content${query}`, { headers: { authorization, ...headers } })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  const body = () => JSON.parse(bytes.toString())
  return { status: answer.statusCode, headers: answer.headers, bytes, body }
}

t.test('a video is shown from its start to its end, to its own account alone', async t => {
  const gateway = await startVideoGateway(t)
  const other = await otherClient(gateway)
  const { body: { id } } = await create(gateway, { prompt: 'a ball\nsandbox:delay 300' })
  t.match((await send(gateway, `/videos/${id}`, {}, 'GET')).body, { id, object: 'video', completed_at: null })
  const early = await content(gateway, id)
  t.match([early.status, early.body().error.code, early.headers['x-should-retry']], [409, 'video_not_ready', 'false'])
  await gateway.line(({ msg, state }) => msg === 'a job has ended' && state === 'succeeded')
  const { body } = await send(gateway, `/videos/${id}`, {}, 'GET')
  t.match(body, { id, status: 'completed', progress: 100, error: null, usage: { cost: 0.004 } })
  t.ok(body.completed_at >= body.created_at && body.expires_at > body.completed_at)

  for (const [path, method] of [['', 'GET'], ['/content', 'GET'], ['', 'DELETE']] as const) {
    const { status, body: { error } } = await send(other, `/videos/${id}${path}`, {}, method)
    t.match([status, error.code, error.param], [404, 'video_not_found', 'id'], `${method} ${path} by another account`)
  }
  t.match((await send(other, '/videos', {}, 'GET')).body, { data: [], has_more: false, first_id: null, last_id: null })
  t.equal((await send({ ...other, key: 'sk-none' }, `/videos/${id}`, {}, 'GET')).status, 401)
  t.equal((await send(gateway, '/videos/job_none', {}, 'GET')).status, 404)
  t.equal((await content(gateway, id)).status, 200)
})

t.test('the content is the file, whole or a range of it', async t => {
  const gateway = await startVideoGateway(t)
  const { body: { id } } = await create(gateway, { prompt: now })
  await ended(gateway)
  const part = await content(gateway, id, { range: 'bytes=4-7' })
  t.match([part.status, part.bytes.toString(), part.headers['content-length']], [206, 'ftyp', '4'])
  t.match(await gateway.app.store.get('select delivered from job'), { delivered: 0 }, 'a part is not the whole')
  const whole = await content(gateway, id)
  t.match([whole.status, whole.bytes.toString('latin1', 4, 8)], [200, 'ftyp'])
  t.match(whole.headers, {
    'content-type': 'video/mp4',
    'content-length': String(whole.bytes.length),
    'accept-ranges': 'bytes',
    'cache-control': /^private, /
  })
  t.equal(part.headers['content-range'], `bytes 4-7/${whole.bytes.length}`)
  const [row] = await gateway.app.store.all<{ sha256: string }>('select sha256 from media')
  t.equal(createHash('sha256').update(whole.bytes).digest('hex'), row?.sha256)
  t.equal((await content(gateway, id, { range: `bytes=${whole.bytes.length}-` })).status, 416)
  t.equal((await content(gateway, id, { 'if-none-match': String(whole.headers.etag) })).status, 304)
  t.equal((await content(gateway, id, {}, '?variant=video')).status, 200)
  for (const variant of ['thumbnail', 'spritesheet']) {
    const refused = await content(gateway, id, {}, `?variant=${variant}`)
    t.match([refused.status, refused.body().error.param], [400, 'variant'])
  }
  await until(async () => (await gateway.app.store.get<{ n: number }>('select delivered as n from job'))?.n === 1)
  await gateway.app.store.run('update media set expires_at = 1')
  const expired = await content(gateway, id)
  t.match([expired.status, expired.body().error.code], [410, 'video_expired'])
})

t.test('a failed video says why, and has no content', async t => {
  const gateway = await startVideoGateway(t)
  const { body: { id } } = await create(gateway, { prompt: 'a\nsandbox:delay 0\nsandbox:fail moderated' })
  await ended(gateway)
  t.match((await send(gateway, `/videos/${id}`, {}, 'GET')).body, {
    status: 'failed',
    completed_at: Number,
    expires_at: null,
    error: { code: 'content_policy_violation', message: /moderated/, type: 'invalid_request_error' },
    usage: { cost: 0 }
  })
  const nothing = await content(gateway, id)
  t.match([nothing.status, nothing.body().error.code], [409, 'video_failed'])
})

t.test('a video that only the provider has is found there', async t => {
  const gateway = await startVideoGateway(t)
  const { body: { id } } = await create(gateway, { prompt: now })
  await ended(gateway)
  const unknown = { seconds: null, width: null, height: null, expiresAt: null }
  const video = { media: null, url: 'https://provider.example/v.mp4', mime: 'video/mp4', ...unknown }
  await gateway.app.store.run('update job set result = $1', [JSON.stringify([video])])
  const { status, headers } = await content(gateway, id)
  t.match([status, headers.location], [302, video.url])
})

t.test('videos are listed page by page, in both orders', async t => {
  const gateway = await startVideoGateway(t)
  const ids: string[] = []
  for (let count = 0; count < 5; count++) {
    ids.push((await create(gateway, { prompt: `${count}\nsandbox:delay 0` })).body.id)
  }
  await ended(gateway)
  // The ids count up, so the order within a millisecond is known too.
  await gateway.app.store.run('update job set created_at = 5 where id in ($1, $2, $3)', [ids[1]!, ids[2]!, ids[3]!])
  await gateway.app.store.run('update job set created_at = 4 where id = $1', [ids[0]!])
  for (const order of ['asc', 'desc'] as const) {
    const seen: string[] = []
    let after = ''
    for (;;) {
      const { body } = await send(gateway, `/videos?limit=2&order=${order}${after}`, {}, 'GET')
      t.match(body, { object: 'list', first_id: body.data[0].id, last_id: body.data.at(-1).id })
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      if (body.has_more === false) break
      after = `&after=${body.last_id}`
    }
    t.strictSame(seen, order === 'asc' ? ids : ids.toReversed())
  }
  t.equal((await send(gateway, '/videos', {}, 'GET')).body.data.length, 5)
  const wrong = { 'limit=0': 'limit', 'limit=101': 'limit', 'order=up': 'order', 'after=job_x': 'after', 'page=2': 'page' }
  for (const [query, param] of Object.entries(wrong)) {
    const { status, body: { error } } = await send(gateway, `/videos?${query}`, {}, 'GET')
    t.match([status, error.param], [400, param], query)
  }
})

t.test('the pictures of a task do not weigh on lists', async t => {
  const gateway = await startVideoGateway(t)
  const { body: { id } } = await create(gateway, { prompt: now })
  await ended(gateway)
  const { store } = gateway.app
  const task = JSON.parse((await store.get<{ request: string }>('select request from job'))?.request ?? '')
  const firstFrame = `data:image/png;base64,${'A'.repeat(1000)}`
  await store.run('update job set request = $1', [JSON.stringify({ ...task, firstFrame })])
  const job = await gateway.app.videos.library.get('default', id)
  t.match(job?.task, { ...task, firstFrame: null, lastFrame: null })
})

t.test('a deleted video is gone: its row, its address and its bytes', async t => {
  const gateway = await startVideoGateway(t)
  const { app, url } = gateway
  const named = { 'idempotency-key': 'mine' }
  const { body: { id } } = await create(gateway, { prompt: now }, named)
  await ended(gateway)
  const media = await app.media.get((await app.videos.library.get('default', id))?.videos[0]?.media ?? '')
  const address = media === undefined ? '' : app.media.url(media, url)
  t.equal((await request(address)).statusCode, 200)
  const { status, body } = await send(gateway, `/videos/${id}`, {}, 'DELETE')
  t.strictSame([status, body], [200, { id, object: 'video.deleted', deleted: true }])
  for (const [path, method] of [['', 'GET'], ['/content', 'GET'], ['', 'DELETE']] as const) {
    t.equal((await send(gateway, `/videos/${id}${path}`, {}, method)).status, 404, `${method} ${path}`)
  }
  t.equal((await send(gateway, '/videos', {}, 'GET')).body.data.length, 0)
  t.equal((await request(address)).statusCode, 404)
  t.match(await app.store.all('select state, deleted_at as "deletedAt" from job'), [{ state: 'succeeded', deletedAt: Number }])
  t.match(await app.store.all('select amount from entry where ref = $1', [id]), [{ amount: 4_000_000 }], 'it stays charged')
  const again = await create(gateway, { prompt: now }, named)
  t.not(again.body.id, id, 'its name is free')
  await ended(gateway)
  t.strictSame(await checkLedger(app.store), [])
})

t.test('a running video that is deleted ends as one that no client waits for', async t => {
  const gateway = await startVideoGateway(t, {}, { takeoverAfterMs: 160 })
  const { app } = gateway
  const queued = await create(gateway, { prompt: 'a\nsandbox:delay 600000' })
  t.equal((await send(gateway, `/videos/${queued.body.id}`, {}, 'DELETE')).status, 200)
  await gateway.line(({ msg, job, state }) => msg === 'a job has ended' && job === queued.body.id && state === 'cancelled')
  t.match(await app.ledger.balance('default'), { heldNano: 0, spentNano: 0 }, 'the provider had not begun')

  const running = await create(gateway, { prompt: 'b\nsandbox:delay 400' })
  await until(async () => (await send(gateway, `/videos/${running.body.id}`, {}, 'GET')).body.status === 'in_progress')
  t.equal((await send(gateway, `/videos/${running.body.id}`, {}, 'DELETE')).status, 200)
  await gateway.line(({ msg, job, state }) => msg === 'a job has ended' && job === running.body.id && state === 'succeeded')
  await app.ledger.flush()
  t.match(await app.ledger.balance('default'), { heldNano: 0, spentNano: 4_000_000 }, 'it was made, and is paid for')
  t.match(await app.store.all('select expires_at <= $1 as "isExpired" from media', [app.store.clock()]), [{ isExpired: 1 }])
  t.strictSame(await checkLedger(app.store), [])
})
