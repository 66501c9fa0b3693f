import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { Client } from 'undici'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { nanoFromUsd } from '../../services/shared/money.ts'
import type { Database } from './engines.ts'
import { addressOf, spawnGateway, type GatewayProcess } from './process.ts'

export const adminKey = 'an-admin-key-of-sixteen-characters'
/** Connections are distributed at random: with this many, one worker gets none in one run of 32,768. */
export const manyConnections = 16
/** More than one worker needs to start on a busy machine. */
const patienceMs = 60_000

export interface Node { gateway: GatewayProcess, origin: string, key: string }

/** Starts a node of two workers. */
export async function startNode (
  t: Test, env: Record<string, string>, at: { folder?: string } = {}
): Promise<Node> {
  const all = { TOLLGATE_WORKERS: '2', TOLLGATE_ADMIN_KEY: adminKey, ...env }
  const gateway = await spawnGateway(t, all, at)
  const { url, key } = await addressOf(gateway)
  return { gateway, origin: new URL(url).origin, key }
}

/** The processes that a process has started. */
export async function childrenOf (pid = 0): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text.split(' ').filter(part => part !== '').map(Number)
}

export const isRunning = async (pid: number): Promise<boolean> =>
  await readFile(`/proc/${pid}/stat`, 'utf8').then(text => !/\) [ZX] /.test(text), () => false)

export async function until (isTrue: () => Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = performance.now() + patienceMs
  while (!await isTrue()) {
    if (performance.now() > deadlineMs) throw new Error(`It did not come to this: ${what}`)
    await sleep(20)
  }
}

interface Asked { path: string, body?: object, key: string, headers?: Record<string, string> }

/** Sends one request on a connection of its own. */
export async function ask (
  origin: string, { path, body, key, headers = {} }: Asked
): Promise<{ status: number, text: string }> {
  const client = new Client(origin)
  try {
    const answer = await client.request({
      method: body === undefined ? 'GET' : 'POST',
      path,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...body !== undefined && { body: JSON.stringify(body) }
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  } finally {
    await client.close()
  }
}

/** The same request on many connections at once. */
export async function askAll (origin: string, asked: Asked) {
  return await Promise.all(Array.from({ length: manyConnections }, () => ask(origin, asked)))
}

export const say = (content: string, more: object = {}) =>
  ({ model: 'sandbox-chat', messages: [{ role: 'user', content }], max_tokens: 100, ...more })
export const chat = '/v1/chat/completions'

/** Tests what the workers of one node share and how they end, with one node: it takes long to start. */
export async function testTwoWorkers (t: Test, database: Database): Promise<void> {
  const node = await startNode(t, { DATABASE_URL: database.url })
  t.equal((await childrenOf(node.gateway.child.pid)).length, 2)
  t.equal(node.gateway.output().match(/Tollgate serves/g)?.length, 1, 'one banner')
  t.equal(node.gateway.output().match(/sk-tg-/g)?.length, 2, 'one key, and the command with it')
  await t.test('share an account: never overdrawn, each answer booked once, metrics summed', async t => {
    await shareAccount(t, node, database)
  })
  await t.test('make a video once, whichever of them is asked for it', async t => {
    await makeVideos(t, node, database)
  })
  await t.test('both refuse a key revoked at one of them within the second that keys are cached', async t => {
    await revokeKey(t, node)
  })
  await t.test('let their streams end after SIGTERM and lose no request', async t => {
    await endByStreams(t, node)
  })
  t.strictSame(await checkLedger(await database.open()), [])
}

async function shareAccount (t: Test, { origin }: Node, database: Database): Promise<void> {
  const admin = async (path: string, body: object) =>
    JSON.parse((await ask(origin, { path: `/admin${path}`, body, key: adminKey })).text)
  await admin('/accounts', { id: 'team' })
  await admin('/accounts/team/deposits', { amount_usd: 0.006 })
  const { key } = await admin('/keys', { account: 'team' })
  const statuses = new Map<number, number>()
  await Promise.all(Array.from({ length: manyConnections }, async () => {
    const client = new Client(origin)
    for (let status = 200; status === 200 || status === 429;) {
      const answer = await client.request({
        method: 'POST',
        path: chat,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(say('What is a gateway?'))
      })
      await answer.body.dump()
      status = answer.statusCode
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    await client.close()
  }))
  t.equal(statuses.get(402), manyConnections)
  const answered = statuses.get(200) ?? 0
  t.ok(answered > 100)

  // A worker whose counts do not come in time is left out.
  await until(async () => (await askAll(origin, { path: '/metrics', key: adminKey })).every(({ text }) => {
    const counted = text.matchAll(/^tollgate_requests_total\{route="\/v1\/chat\/completions",.*status="200"\} (\d+)$/gm)
    const sum = [...counted].reduce((sum, [, count]) => sum + Number(count), 0)
    return sum === answered && /^tollgate_workers 2$/m.test(text)
  }), 'every worker shows the sum')
  const store = await database.open()
  const booked = async () => await store.get<{ total: number, count: number }>(
    "select coalesce(sum(amount), 0) as total, count(*) as count from entry where kind = 'usage' and debit = 'team'")
  await until(async () => (await booked())?.count === answered, 'every answer is booked')
  const account = await store.get<{ credits: number, spent: number }>("select credits, spent from account where id = 'team'")
  t.match(account, { credits: nanoFromUsd('0.006'), spent: (await booked())?.total })
  t.ok((account?.spent ?? Infinity) <= (account?.credits ?? 0), 'never below zero')
}

async function makeVideos (t: Test, { origin, key }: Node, database: Database): Promise<void> {
  const body = { model: 'sandbox-video', prompt: 'a red ball\nsandbox:delay 500', seconds: '2', size: '320x180' }
  const headers = { 'idempotency-key': 'one' }
  const created = await askAll(origin, { path: '/v1/videos', body, key, headers })
  t.same(new Set(created.map(({ status }) => status)), new Set([200]))
  const ids = new Set(created.map(({ text }) => JSON.parse(text).id))
  t.equal(ids.size, 1)
  const [id] = ids
  const held = { model: 'sandbox-video', messages: [{ role: 'user', content: 'a blue ball\nsandbox:delay 500' }], video: { seconds: 2, size: '320x180' } }
  const answers = await askAll(origin, { path: chat, body: held, key, headers: { 'idempotency-key': 'two' } })
  const contents = answers.map(({ text }) => JSON.parse(text).choices?.[0]?.message.content)
  t.match(contents[0], /^http/)
  t.equal(new Set(contents).size, 1, 'all clients get the same video')
  await until(async () => JSON.parse((await ask(origin, { path: `/v1/videos/${id}`, key })).text).status === 'completed', 'the first one')
  for (const { text } of await askAll(origin, { path: `/v1/videos/${id}`, key })) t.equal(JSON.parse(text).status, 'completed')
  const store = await database.open()
  await until(async () => {
    const row = await store.get<{ count: number }>("select count(*) as count from entry where kind = 'usage' and debit = 'default'")
    return row?.count === 2
  }, 'two charges')
  t.equal((await store.get<{ count: number }>('select count(*) as count from job'))?.count, 2)
}

async function revokeKey (t: Test, { origin }: Node): Promise<void> {
  const made = await ask(origin, { path: '/admin/keys', body: { account: 'default', label: 'a' }, key: adminKey })
  const { key, id } = JSON.parse(made.text)
  const models = await askAll(origin, { path: '/v1/models', key })
  t.same(new Set(models.map(({ status }) => status)), new Set([200]))
  const revoked = await ask(origin, { path: `/admin/keys/${id}/revoke`, body: {}, key: adminKey })
  t.equal(revoked.status, 200, revoked.text)
  await sleep(1_100)
  // An expired copy is used once more while the key is looked up.
  await askAll(origin, { path: '/v1/models', key })
  const after = await askAll(origin, { path: '/v1/models', key })
  t.same(new Set(after.map(({ status }) => status)), new Set([401]))
}

async function endByStreams (t: Test, { gateway, origin, key }: Node): Promise<void> {
  const workers = await childrenOf(gateway.child.pid)
  const clients = Array.from({ length: manyConnections }, () => new Client(origin))
  const streams = await Promise.all(clients.map(client => client.request({
    method: 'POST',
    path: chat,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(say('What is a gateway?', { stream: true }))
  })))
  gateway.child.kill('SIGTERM')
  const texts = await Promise.all(streams.map(({ body }) => body.text()))
  t.ok(texts.every(text => text.endsWith('data: [DONE]\n\n')))
  t.equal(await gateway.exited, 0)
  for (const pid of workers) t.notOk(await isRunning(pid))
  await t.rejects(ask(origin, { path: '/readyz', key }), 'nothing listens any more')
  await Promise.all(clients.map(client => client.close()))
}
