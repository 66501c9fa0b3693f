import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { createCorrections } from '../../../../services/billing/ledger/corrections.ts'
import { createTransfers } from '../../../../services/billing/ledger/transfers.ts'
import type { Ledger } from '../../../../services/billing/ledger/ledger.ts'
import { entryId } from '../../../../services/billing/ledger/entry-id.ts'
import type { Store } from '../../../../services/store/store.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import type { Database } from '../../../helpers/engines.ts'
import { assertBooks, createBooks, rowOf, spend, startLedger } from './helper.ts'
import { until } from '../../../helpers/until.ts'

const lacking = { name: 'GatewayError', status: 400, code: 'insufficient_credits' }
const refusal = (status: number, more = {}) => ({ name: 'GatewayError', status, ...more })

/** The accounts org ⊃ team ⊃ person, and other; org has 1,000. */
async function setUp (database: Database) {
  const store = await database.open()
  await createBooks(store, { org: 1_000, other: 0 })
  const accounts = createAccounts(store)
  await accounts.create({ id: 'team', parent: 'org' })
  await accounts.create({ id: 'person', parent: 'team' })
  const balances = async () => Object.fromEntries((await store.all<{ id: string, balance: number }>(
    "select id, credits - spent as balance from account where kind = 'account' order by id"
  )).map(({ id, balance }) => [id, balance]))
  const [transfers, corrections] = [createTransfers(store), createCorrections(store)]
  return { store, accounts, balances, transfers, corrections }
}

forEachEngine(t, 'an allocation moves money within its line and counts it once', async (t, database) => {
  const { store, transfers, balances } = await setUp(database)
  t.equal(await transfers.transfer({ id: 't1', from: 'org', to: 'team', amountNano: 400 }), true)
  t.equal(await transfers.transfer({ id: 't2', from: 'team', to: 'person', amountNano: 100 }), true)
  t.same(await balances(), { org: 1_000, other: 0, person: 100, team: 400 })
  t.match(await store.all("select * from entry where kind = 'transfer' order by seq"), [
    { idempotency_key: 't1', debit: 'org', credit: 'team', amount: 400 },
    { idempotency_key: 't2', debit: 'team', credit: 'person', amount: 100 }
  ])
  await t.rejects(transfers.transfer({ id: 't3', from: 'org', to: 'team', amountNano: 601 }), lacking,
    'what is allocated cannot be allocated again')
  t.equal(await transfers.transfer({ id: 't4', from: 'person', to: 'org', amountNano: 30 }), true)
  t.same(await balances(), { org: 1_000, other: 0, person: 70, team: 370 }, 'back to the top')
  t.equal(await transfers.transfer({ id: 't5', from: 'person', to: 'other', amountNano: 20 }), true)
  t.same(await balances(), { org: 980, other: 20, person: 50, team: 350 }, 'out of the tree')
  await assertBooks(t, store)
})

forEachEngine(t, 'money that is paid into an account below is its parents\' as well', async (t, database) => {
  const { store, accounts, transfers, corrections, balances } = await setUp(database)
  await accounts.deposit({ id: 'd', account: 'person', amountNano: 50 })
  t.same(await balances(), { org: 1_050, other: 0, person: 50, team: 50 })
  await corrections.adjust({ id: 'a1', account: 'team', amountNano: 5, reason: 'r' })
  await corrections.adjust({ id: 'a2', account: 'person', amountNano: -10, reason: 'r' })
  t.same(await balances(), { org: 1_045, other: 0, person: 40, team: 45 })
  await transfers.withdraw({ id: 'w', account: 'person', amountNano: 'all', reason: 'r' })
  t.same(await balances(), { org: 1_005, other: 0, person: 0, team: 5 })
  await t.rejects(corrections.adjust({ id: 'a3', account: 'team', amountNano: -6, reason: 'r' }), lacking)
  const { ledger } = startLedger(t, store, { options: { chunkNano: 0 } })
  await accounts.deposit({ id: 'd2', account: 'person', amountNano: 50 })
  await spend(ledger, 40, 30, { id: 'r1', chain: ['person', 'team', 'org'] })
  t.same(await balances(), { org: 1_025, other: 0, person: 20, team: 25 })
  await assertBooks(t, store)
})

forEachEngine(t, 'repeating a transfer or a withdrawal is a no-op', async (t, database) => {
  const { store, transfers, balances } = await setUp(database)
  const transfer = { id: 't1', from: 'org', to: 'other', amountNano: 7 }
  const booked = await Promise.all([transfers.transfer(transfer), transfers.transfer(transfer)])
  t.same(booked.sort(), [false, true])
  const conflict = { status: 409, code: 'idempotency_conflict' }
  await t.rejects(transfers.transfer({ ...transfer, amountNano: 8 }), conflict)
  await t.rejects(transfers.transfer({ ...transfer, to: 'team' }), conflict)
  await t.rejects(transfers.withdraw({ id: 't1', account: 'org', amountNano: 7, reason: 'r' }), conflict)
  const withdrawal = { id: 'w', account: 'other', amountNano: 'all', reason: 'r' } as const
  t.equal(await transfers.withdraw(withdrawal), true)
  t.equal(await transfers.withdraw(withdrawal), false, 'although there is nothing left')
  t.same(await balances(), { org: 993, other: 0, person: 0, team: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'a wrong transfer is refused', async (t, database) => {
  const { store, transfers } = await setUp(database)
  const transfer = { id: 't', from: 'org', to: 'other', amountNano: 7 }
  await t.rejects(transfers.transfer({ ...transfer, to: 'org' }), refusal(400, { param: 'to' }))
  await t.rejects(transfers.transfer({ ...transfer, to: 'nobody' }), refusal(404))
  await t.rejects(transfers.transfer({ ...transfer, from: 'nobody' }), refusal(404))
  const nothing = { ...transfer, from: 'other', to: 'org', amountNano: 'all' } as const
  await t.rejects(transfers.transfer(nothing), lacking)
  for (const amountNano of [0, -1, 0.5, 2 ** 53]) {
    await t.rejects(transfers.transfer({ ...transfer, amountNano }), RangeError)
  }
  t.equal((await store.all("select 1 from entry where kind = 'transfer'")).length, 0)
})

forEachEngine(t, 'concurrent transfers in both directions neither deadlock nor overdraw', async (t, database) => {
  const { store, transfers, balances } = await setUp(database)
  await transfers.transfer({ id: 't', from: 'org', to: 'other', amountNano: 500 })
  const outcomes = await Promise.allSettled(Array.from({ length: 30 }, async (_, index) => {
    const [from = '', to = ''] = [['org', 'other'], ['other', 'org'], ['other', 'person']][index % 3] ?? []
    return await transfers.transfer({ id: `t${index}`, from, to, amountNano: 100 })
  }))
  t.ok(outcomes.every(outcome => outcome.status === 'fulfilled' || outcome.reason.code === 'insufficient_credits'))
  const { org = 0, other = 0 } = await balances()
  t.equal(org + other, 1_000)
  await assertBooks(t, store)
})

/** Requests one after the other on a node, until it is stopped. */
function startTraffic (ledger: Ledger, name: string) {
  const stopping = new AbortController()
  const counts = { served: 0, refused: 0 }
  const running = (async () => {
    for (let index = 0; !stopping.signal.aborted; index++) {
      try {
        const request = { id: `${name}-${index}`, chain: ['busy'], key: 'key', amountNano: 1_000, fresh: true }
        const hold = await ledger.reserve(request)
        await sleep(2)
        hold.settle({ amountNano: 10, ref: name, model: 'm', usage: {}, estimated: false })
        counts.served++
      } catch {
        counts.refused++
        await sleep(5)
      }
    }
  })()
  return {
    counts,
    async stop () {
      stopping.abort()
      await running
    }
  }
}

forEachEngine(t, 'nearly all, and then all that is free can be taken while requests run', async (t, database) => {
  const store = await database.open()
  await createBooks(store, { busy: 1_000_000_000 })
  const nodes = database.engine === 'postgres' ? [store, await database.open()] : [store]
  const ledgers = nodes.map(each => startLedger(t, each).ledger)
  const traffic = ledgers.flatMap((ledger, node) =>
    Array.from({ length: 8 }, (_, index) => startTraffic(ledger, `${node}-${index}`)))
  await until(() => traffic.every(({ counts }) => counts.served >= 20))

  const spare = await store.get<{ nano: number }>(
    "select cast(sum(spare) as bigint) as nano from hold where kind = 'node' and state = 0")
  t.ok((spare?.nano ?? 0) > 50_000_000, `nodes keep ${spare?.nano} spare`)
  const corrections = createCorrections(store)
  for (let round = 0; round < 5; round++) {
    const { creditsNano, spentNano } = await ledgers[0]?.balance('busy') ?? { creditsNano: 0, spentNano: 0 }
    const taken = Math.floor((creditsNano - spentNano) * 0.97)
    await corrections.adjust({ id: `a${round}`, account: 'busy', amountNano: -taken, reason: 'r' })
    if (round < 4) await corrections.adjust({ id: `b${round}`, account: 'busy', amountNano: taken, reason: 'r' })
  }
  t.equal(await createTransfers(store).withdraw({ id: 'w', account: 'busy', amountNano: 'all', reason: 'r' }), true)
  const left = await store.get<{ nano: number }>("select credits - spent as nano from account where id = 'busy'")
  // Running requests, and those whose settlement is on its way to the database.
  const heldNano = 2 * traffic.length * 1_000
  t.ok((left?.nano ?? Infinity) <= heldNano, `${left?.nano} is left, at most ${heldNano} is held`)
  for (const each of traffic) await each.stop()
  for (const ledger of ledgers) await ledger.close()
  t.match(await rowOf(store, 'busy'), { held: 0 })
  await assertBooks(t, store)
})

/**
 * A store on which a node keeps money spare, gives it back when asked, and another one takes some just before
 * the first transaction that would find nothing spare.
 */
async function createLateNode (t: Test, store: Store) {
  const ledgers: Ledger[] = []
  const use = async (ledger: Ledger | undefined) => {
    if (ledger === undefined) return
    await spend(ledger, 2, 1, { chain: ['acme'] })
    // Until it is written, what was held of it is not free.
    await ledger.flush()
  }
  const startNode = async () => {
    ledgers.push(startLedger(t, store, { options: { chunkNano: 400 } }).ledger)
    await use(ledgers.at(-1))
  }
  const spareNano = async () => (await store.get<{ nano: number }>(
    "select cast(coalesce(sum(spare), 0) as bigint) as nano from hold where kind = 'node' and state = 0"))?.nano ?? 0
  await startNode()
  return {
    ledgers,
    raced: {
      ...store,
      /** The only statement outside a transaction asks the nodes, which notice at their next commit. */
      async run (sql, params) {
        const changed = await store.run(sql, params)
        for (const ledger of ledgers) await use(ledger)
        return changed
      },
      async transaction (work) {
        if (ledgers.length === 1 && await spareNano() === 0) {
          await startNode()
          t.ok(await spareNano() > 100, 'the other node keeps money spare')
        }
        return await store.transaction(work)
      }
    } satisfies Store
  }
}

const takings = [
  {
    title: 'all that is free is taken',
    take: async (store: Store) =>
      await createTransfers(store).withdraw({ id: 'w', account: 'acme', amountNano: 'all', reason: 'r' })
  },
  {
    title: 'an amount is taken',
    leftNano: 50,
    take: async (store: Store) =>
      await createTransfers(store).withdraw({ id: 'w', account: 'acme', amountNano: 950, reason: 'r' })
  },
  {
    title: 'an adjustment takes an amount',
    leftNano: 50,
    take: async (store: Store) =>
      await createCorrections(store).adjust({ id: 'a', account: 'acme', amountNano: -950, reason: 'r' })
  }
]

for (const { title, leftNano, take } of takings) {
  forEachEngine(t, `${title} although a node takes money spare at the last moment`, async (t, database) => {
    const store = await database.open()
    await createBooks(store, { acme: 1_000 })
    const { ledgers, raced } = await createLateNode(t, store)
    t.equal(await take(raced), true)
    t.equal(ledgers.length, 2)
    for (const ledger of ledgers) await ledger.close()
    const { credits = 0, spent = 0 } = await rowOf(store) ?? {}
    t.equal(credits, leftNano ?? spent)
    await assertBooks(t, store)
  })
}

forEachEngine(t, 'a refund after a move goes to the parents of now', async (t, database) => {
  const { store, accounts, transfers, corrections, balances } = await setUp(database)
  const { ledger } = startLedger(t, store, { options: { chunkNano: 0 } })
  await transfers.transfer({ id: 't', from: 'org', to: 'team', amountNano: 100 })
  await spend(ledger, 50, 40, { id: 'r', chain: ['team', 'org'] })
  await ledger.close()
  await accounts.freeze('team')
  await store.run("update account set frozen_at = frozen_at - 10000 where id = 'team'")
  await accounts.move('team', 'other')
  t.same(await balances(), { org: 900, other: 60, person: 0, team: 60 })
  const usage = await store.get<{ seq: number }>("select seq from entry where kind = 'usage'")
  await corrections.refund({ id: 'f', entry: entryId(usage?.seq ?? 0) })
  t.same(await balances(), { org: 900, other: 100, person: 0, team: 100 })
  await assertBooks(t, store)
})
