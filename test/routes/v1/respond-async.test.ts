import t from 'tap'
import { checkLedger } from '../../../services/billing/ledger/check/check-books.ts'
import { prefersAsync } from '../../../services/requests/request-headers.ts'
import type { Gateway } from '../../helpers/gateway.ts'
import { create, ended, json, send, startVideoGateway } from './video-client.ts'
import { until } from '../../helpers/until.ts'

const chatFor = (content: string) => ({
  model: 'sandbox-video', messages: [{ role: 'user', content }], video: { seconds: 2, size: '64x36' }
})

async function ask (gateway: Gateway, content: string, headers: Record<string, string> = {}) {
  return await send(gateway, '/chat/completions', {
    headers: { ...json, ...headers }, body: JSON.stringify(chatFor(content))
  })
}

const prefer = { prefer: 'respond-async' }

t.test('a chat request that prefers it is answered by the job of its video', async t => {
  const gateway = await startVideoGateway(t)
  const { status, headers, body } = await ask(gateway, 'a ball\nsandbox:delay 100', prefer)
  t.match([status, headers.get('preference-applied')], [202, 'respond-async'])
  t.match(body, { id: /^job_/, object: 'video', status: 'queued', seconds: '2', size: '64x36' })
  t.equal(headers.get('location'), `${gateway.url}/videos/${body.id}`)
  t.match((await send(gateway, `/videos/${body.id}`, {}, 'GET')).body, { id: body.id, prompt: 'a ball\nsandbox:delay 100' })
  await ended(gateway)
  t.match((await send(gateway, `/videos/${body.id}`, {}, 'GET')).body, { status: 'completed' })
  t.match(await gateway.app.ledger.balance('default'), { heldNano: 0, spentNano: 4_000_000 })
  t.strictSame(await checkLedger(gateway.app.store), [])

  const refused = await ask(gateway, ' ', prefer)
  t.match([refused.status, refused.body.error.param], [400, 'messages'], 'errors keep their own names and status')
  const plain = await send(gateway, '/chat/completions', {
    headers: { ...json, ...prefer },
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'a' }] })
  })
  t.match([plain.status, plain.headers.get('preference-applied'), plain.body.object], [200, null, 'chat.completion'])
})

t.test('a name is one job, whichever surface asks for it', async t => {
  const gateway = await startVideoGateway(t)
  const prompt = 'a ball\nsandbox:delay 300'
  const named = { 'idempotency-key': 'order 1' }
  const [held, video, job] = await Promise.all([
    ask(gateway, prompt, named),
    create(gateway, { prompt }, named),
    ask(gateway, prompt, { ...named, ...prefer })
  ])
  t.match([held.status, video.status, job.status], [200, 200, 202])
  t.equal(held.body.choices[0].message.videos[0].job_id, video.body.id)
  t.equal(job.body.id, video.body.id)
  const later = await ask(gateway, prompt, named)
  t.equal(later.body.choices[0].message.videos[0].job_id, video.body.id)
  await ended(gateway)
  t.match(await gateway.app.store.all("select kind from entry where kind = 'usage'"), [{ kind: 'usage' }])
  t.equal((await gateway.app.store.all('select id from job')).length, 1)
})

t.test('a body joins what a client has left, whichever surface asks for it', async t => {
  const gateway = await startVideoGateway(t)
  const prompt = 'a ball\nsandbox:delay 800'
  const abort = new AbortController()
  const left = fetch(`${gateway.url}/chat/completions`, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify(chatFor(prompt)), signal: abort.signal
  })
  await until(async () => (await gateway.app.store.all('select id from waiter')).length > 0)
  abort.abort()
  await t.rejects(left)
  await until(async () => (await gateway.app.store.all('select id from waiter')).length === 0)
  const joined = await create(gateway, { prompt })
  t.match(await gateway.app.store.all('select id from job'), [{ id: joined.body.id }])
  const held = await ask(gateway, prompt)
  t.not(held.body.choices[0].message.videos[0].job_id, joined.body.id, 'its id is known')
})

t.test('the preference is read as RFC 7240 says', async t => {
  const asks = ['respond-async', 'Respond-Async', 'wait=10, respond-async', 'respond-async;x=1 , handling=lenient']
  for (const value of asks) t.equal(prefersAsync({ prefer: value }), true, value)
  for (const value of ['', 'respond-asynchronously', 'wait=10', 'x=respond-async']) {
    t.equal(prefersAsync({ prefer: value }), false, value)
  }
  t.equal(prefersAsync({}), false)
})

t.test('a job whose id was told outlives its client and the rule for abandoned ones, and is kept until it expires', async t => {
  const gateway = await startVideoGateway(t, {}, { abandonAfterMs: 50, takeoverAfterMs: 160 })
  const { app: { store } } = gateway
  const content = 'a ball\nsandbox:delay 5000'
  const abort = new AbortController()
  const held = fetch(`${gateway.url}/chat/completions`, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify(chatFor(`left ${content}`)), signal: abort.signal
  })
  await until(async () => (await store.all('select id from waiter')).length > 0)
  abort.abort()
  await t.rejects(held)
  // The connection of each closes with its answer.
  const closing = { connection: 'close' }
  const told = [await create(gateway, { prompt: content }, closing), await ask(gateway, `b ${content}`, { ...prefer, ...closing })]
  await gateway.line(({ msg, state }) => msg === 'a job has ended' && state === 'cancelled')
  for (const { body: { id } } of told) {
    await gateway.line(({ msg, job, state }) => msg === 'a job has ended' && job === id && state === 'succeeded')
    t.match((await send(gateway, `/videos/${id}`, {}, 'GET')).body, { status: 'completed' })
    const file = async () => await fetch(`${gateway.url}/videos/${id}/content`, { headers: gateway.headers })
    t.equal((await file()).status, 200)
    t.equal((await file()).status, 200, 'also after it was delivered')
    await store.run('update media set expires_at = $1 where job = $2', [store.clock() + 60_000, id])
    t.equal((await file()).status, 200)
    await store.run('update media set expires_at = 1 where job = $1', [id])
    t.equal((await file()).status, 410)
  }
  await gateway.app.ledger.flush()
  t.match(await gateway.app.ledger.balance('default'), { heldNano: 0, spentNano: 8_000_000 })
  t.strictSame(await checkLedger(store), [])
})
