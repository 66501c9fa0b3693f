import t, { type Test } from 'tap'
import { createJobHolds } from '../../../services/billing/ledger/hold/job-holds.ts'
import type { Ledger } from '../../../services/billing/ledger/ledger.ts'
import type { Store } from '../../../services/store/store.ts'
import { createJobFinder } from '../../../services/videos/find-job.ts'
import type { VideoPlan } from '../../../services/videos/plan-video.ts'
import type { Job } from '../../../services/videos/job.ts'
import { createJobRows, type JobRows } from '../../../services/videos/rows.ts'
import { createClientPresence } from '../../../services/requests/joins/client-presence.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { rejection } from '../../helpers/thrown.ts'
import { assertBooks, createBooks, rowOf, startLedger } from '../billing/ledger/helper.ts'
import { createNetwork } from '../billing/ledger/simulation.ts'
import { jobsIn } from './studio.ts'

const maxNano = 400

interface NodeOptions {
  /** Called before money is held. */
  beforeHold? (): Promise<unknown>
  /** Called when money is held. */
  afterHold? (): Promise<unknown> | void
  rows?: (rows: JobRows) => JobRows
}

/** A node that finds jobs for requests; its connection can fail. */
async function startNode (t: Test, store: Store, options: NodeOptions = {}) {
  const connection = createNetwork(store).connect()
  const { ledger } = startLedger(t, store)
  // Sends the node's first heartbeat.
  await ledger.balance('acme')
  const clientPresence = createClientPresence({ kind: 'job', store: connection, node: ledger.node, takeoverMs: 10_000 })
  const begun: Job[] = []
  const doubted: string[] = []
  const rows = createJobRows(connection, ledger.node, clientPresence)
  const reserve: Ledger['reserve'] = async reservation => {
    await options.beforeHold?.()
    const hold = await ledger.reserve(reservation)
    await options.afterHold?.()
    return hold
  }
  const find = createJobFinder({
    store: connection,
    rows: options.rows?.(rows) ?? rows,
    holds: createJobHolds(store.engine),
    ledger: { node: ledger.node, reserve, forget: id => ledger.forget(id) },
    clientPresence,
    begin: job => { begun.push(job) },
    onDoubt: id => { doubted.push(id) }
  })
  return {
    begun,
    doubted,
    connection,
    clientPresence,
    rows,
    node: ledger.node,
    find: async (order: VideoPlan, clientId = clientPresence.acquire()) => await find(order, clientId)
  }
}

function order (identity: Partial<VideoPlan['identity']> = {}, more: Partial<VideoPlan> = {}): VideoPlan {
  return {
    payer: { key: 'key', chain: ['acme'] },
    model: 'film',
    candidates: [{ provider: 'p', model: 'm' }],
    task: {
      prompt: 'a ball', seconds: 4, size: { width: 1280, height: 720 }, isSizeAsked: false, aspectRatio: null, seed: null, audio: false, firstFrame: null, lastFrame: null
    },
    price: { secondNano: 100, seconds: 4, maxNano },
    deadlineMs: 60_000,
    identity: { key: null, retryCount: 0, bodyHash: 'hash', ...identity },
    baseUrl: 'https://gateway.example/v1',
    signal: new AbortController().signal,
    isBackground: false,
    webhookUrl: null,
    ...more
  }
}

const named = (key: string) => order({ key })

forEachEngine(t, 'a request without a job gets one, whose money is held until it ends', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const { find, begun, node } = await startNode(t, store)
  const job = await find(order(), `${node} 7`)
  t.match(job, { state: 'submitting', attempts: 1, waiterLeftAt: null, owner: node, hold: { amountNano: maxNano } })
  t.same(begun, [job])
  t.same(await jobsIn(store), [job])
  t.match(await store.all('select amount, expires_at from hold where id = $1', [job.id]), [{ amount: maxNano, expires_at: null }])
  t.match(await store.all('select id, work, node from waiter'), [{ id: `${node} 7`, work: job.id, node }])
  t.match(await rowOf(store), { held: maxNano })
})

forEachEngine(t, 'a free video holds nothing', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 0 })
  const { find } = await startNode(t, store)
  const job = await find(order({}, { price: { secondNano: 0, seconds: 4, maxNano: 0 } }))
  t.equal(job.hold, null)
  t.match(await rowOf(store), { held: 0 })
})

forEachEngine(t, 'a request that cannot be paid gets no job', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: maxNano - 1 })
  const { find, begun } = await startNode(t, store)
  t.match(await rejection(find(order())), { status: 402 })
  t.same(begun, [])
  t.same(await jobsIn(store), [])
})

forEachEngine(t, 'requests with one Idempotency-Key at once get one job, and hold its money once', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: maxNano })
  const { find, begun } = await startNode(t, store)
  const jobs = await Promise.all(Array.from({ length: 5 }, () => find(named('mine'))))
  t.equal(new Set(jobs.map(({ id }) => id)).size, 1)
  t.equal(begun.length, 1)
  t.match(await rowOf(store), { held: maxNano })
})

forEachEngine(t, 'of two nodes that create the job of a key at once, one does, and the other joins', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const bothHold = Promise.withResolvers<void>()
  let holding = 0
  const afterHold = async () => {
    if (++holding === 2) bothHold.resolve()
    await bothHold.promise
  }
  const nodes = [await startNode(t, store, { afterHold }), await startNode(t, store, { afterHold })]
  const jobs = await Promise.all(nodes.map(({ find }) => find(named('mine'))))
  t.equal(new Set(jobs.map(({ id }) => id)).size, 1)
  t.equal(nodes.flatMap(({ begun }) => begun).length, 1)
  t.match(await rowOf(store), { held: maxNano }, 'the other hold is released')
  await assertBooks(t, store)
})

forEachEngine(t, 'a request whose money another node holds for the same key joins that job', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: maxNano })
  const first = await startNode(t, store)
  const other = await startNode(t, store, { beforeHold: async () => await first.find(named('mine')) })
  const job = await other.find(named('mine'))
  t.same(first.begun.map(({ id }) => id), [job.id])
  t.same(other.begun, [])

  t.match(await rejection(other.find(named('another'))), { status: 429 }, 'another key is another video')
})

forEachEngine(t, 'a key is that of one request, until its job has expired', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const { find } = await startNode(t, store)
  const job = await find(named('mine'))
  t.equal((await find(named('mine'))).id, job.id)
  t.match(await rejection(find(order({ key: 'mine', bodyHash: 'other' }))),
    { status: 422, code: 'idempotency_key_reused', headers: { 'x-should-retry': 'false' } })
  await store.run('update job set expires_at = 1')
  t.not((await find(order({ key: 'mine', bodyHash: 'other' }))).id, job.id)
})

const createKey = (store: Store) => store.run(`
  insert into api_key (id, secret_sha256, account, label, created_at) values ('other', 'x', 'acme', '', 0)`)

const waitersIn = (store: Store) => store.all<{ id: string }>('select id from waiter order by id')

forEachEngine(t, 'without a name, a job is joined once its client has left, and by the same key only', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 10_000 })
  await createKey(store)
  const { find, clientPresence } = await startNode(t, store)
  const first = clientPresence.acquire()
  const job = await find(order(), first)
  t.not((await find(order({ bodyHash: 'other' }))).id, job.id)
  t.not((await find(order())).id, job.id, 'while a client waits, the same request is for another video')
  t.not((await find(order({ retryCount: 1 }))).id, job.id, 'also if it is counted as a retry')
  clientPresence.release(first)
  t.not((await find(order({}, { payer: { key: 'other', chain: ['acme'] } }))).id, job.id)
  const next = clientPresence.acquire()
  t.match(await find(order(), next), { id: job.id })
  t.ok((await waitersIn(store)).some(({ id }) => id === next))
  t.notOk((await waitersIn(store)).some(({ id }) => id === first))
})

forEachEngine(t, 'a name is that of one key', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  await createKey(store)
  const { find } = await startNode(t, store)
  const job = await find(named('mine'))
  const other = await find(order({ key: 'mine', bodyHash: 'other' }, { payer: { key: 'other', chain: ['acme'] } }))
  t.not(other.id, job.id)
})

forEachEngine(t, 'a client that waits on another node is left alone while that node lives', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const [one, other] = [await startNode(t, store), await startNode(t, store)]
  const job = await one.find(order())
  t.not((await other.find(order())).id, job.id)
  await store.run("update job set body_hash = 'other' where id <> $1", [job.id])
  await store.run("update waiter set node = 'gone' where work = $1", [job.id])
  t.equal((await other.find(order())).id, job.id, 'its node is not known')
  await store.run("insert into node (id, epoch, heartbeat_at) values ('dead', 1, $1)", [Date.now() - 10_100])
  await store.run("update waiter set node = 'dead' where work = $1", [job.id])
  t.equal((await other.find(order())).id, job.id, 'its heartbeat is overdue')
})

forEachEngine(t, 'a retry waits until it is known whether the client of its first attempt is lost', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const { find } = await startNode(t, store)
  const job = await find(order())
  await store.run("insert into node (id, epoch, heartbeat_at) values ('killed', 1, $1)", [Date.now() - 9_000])
  await store.run("update waiter set node = 'killed' where work = $1", [job.id])
  t.equal((await find(order({ retryCount: 1 }))).id, job.id, 'its node dies meanwhile')
  const gone = new AbortController()
  const asked = find(order({ retryCount: 1 }, { signal: gone.signal }))
  gone.abort()
  t.match(await rejection(asked), { kind: 'aborted' })
})

forEachEngine(t, 'a job that is given up is not joined, and its name is free', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1200 })
  const { find, rows, clientPresence } = await startNode(t, store)
  const [first, second] = [clientPresence.acquire(), clientPresence.acquire()]
  const job = await find(named('mine'), first)
  await find(named('mine'), second)
  await rows.leave(job.id, first, 1)
  t.equal(await rows.giveUp(job, 5), false, 'one still waits')
  await rows.leave(job.id, second, 4)
  await rows.leave(job.id, second, 9)
  t.equal(await rows.giveUp(job, 3), false, 'not for long enough')
  t.equal(await rows.giveUp(job, 5), true)
  t.equal(await rows.claim(job.id, 'late', null), false)
  const next = await find(named('mine'))
  t.not(next.id, job.id)
  t.not((await find(order())).id, job.id)
  await rows.keep(job.id)
  t.equal(await rows.claim(job.id, 'late', []), true)
})

forEachEngine(t, 'a job that is delivered after it was found is joined by its name alone', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const { find, rows, clientPresence } = await startNode(t, store)
  const client = clientPresence.acquire()
  const job = await find(order(), client)
  const alike = await rows.alike('key', job.bodyHash, { sinceMs: 0, nowMs: 0 })
  t.equal(alike.length, 1)
  await rows.deliver(job.id, client)
  t.equal(await rows.claim(job.id, 'repeated', []), false, 'two requests are two videos')
  t.equal(await rows.claim(job.id, 'named', null), true)
})

forEachEngine(t, 'of clients that leave at once the last one is seen to leave', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const [one, other] = [await startNode(t, store), await startNode(t, store)]
  for (let round = 0; round < 5; round++) {
    const ids = [one.clientPresence.acquire(), other.clientPresence.acquire(), one.clientPresence.acquire()]
    const job = await one.find(named('mine'), ids[0])
    await other.find(named('mine'), ids[1])
    await one.find(named('mine'), ids[2])
    await Promise.all(ids.map((id, index) => (index === 1 ? other : one).rows.leave(job.id, id, 7)))
    t.match(await jobsIn(store), [{ waiterLeftAt: 7 }])
  }
  await one.find(named('mine'))
  await store.run("update waiter set node = 'killed'")
  await other.rows.forgetWaiters(['killed'], 8)
  t.match(await jobsIn(store), [{ waiterLeftAt: 8 }], 'also when their node dies')
})

forEachEngine(t, 'of two requests that could join a job, one does', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 2 * maxNano })
  const { find, clientPresence, begun } = await startNode(t, store)
  const first = clientPresence.acquire()
  const job = await find(order(), first)
  clientPresence.release(first)
  const jobs = await Promise.all([find(order()), find(order())])
  t.equal(jobs.filter(({ id }) => id === job.id).length, 1)
  t.equal(begun.length, 2)
})

forEachEngine(t, 'a job of which it is unknown whether it was stored is reported, and its money is not lost', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 2 * maxNano })
  for (const [weather, stored] of [['answer lost', 1], ['away', 0]] as const) {
    const node = await startNode(t, store, { afterHold: () => { node.connection.weather = weather } })
    t.match(await rejection(node.find(order({ bodyHash: weather }))), { name: 'StoreUnavailable' })
    t.same(node.begun, [])
    const [id = ''] = node.doubted
    t.equal((await jobsIn(store)).filter(job => job.id === id).length, stored)
    const holds = await store.all<{ expiresAt: number | null }>(
      'select expires_at as "expiresAt" from hold where id = $1', [id])
    t.equal(holds.length, 1)
    t.equal(holds[0]?.expiresAt === null, stored === 1, 'without a job, the hold expires')
  }
})

forEachEngine(t, 'a key that changes hands too often is answered with 503, and nothing stays held', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  let inserts = 0
  const insert = async () => {
    inserts++
    return false
  }
  const { find } = await startNode(t, store, { rows: rows => ({ ...rows, insert }) })
  t.match(await rejection(find(named('mine'))), { status: 503 })
  t.equal(inserts, 5)
  t.match(await rowOf(store), { held: 0 })
})
