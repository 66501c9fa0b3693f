import t from 'tap'
import { GatewayError } from '../../../../services/shared/errors.ts'
import { createKeys } from '../../../../services/keys/keys.ts'
import { createSuspense } from '../../../../services/billing/ledger/suspense.ts'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import type { Store } from '../../../../services/store/store.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import type { Database } from '../../../helpers/engines.ts'
import { thrown } from '../../../helpers/thrown.ts'
import { assertBooks, createBooks, posting, reservation, rowOf, spend, startLedger } from './helper.ts'

const usd = 1_000_000_000
const tooPoor = { code: 'insufficient_quota' }
const moneyHeld = { status: 429, code: 'insufficient_funds_held' }

async function openBooks (database: Database, credits: Record<string, number> = { acme: usd }) {
  const store = await database.open()
  await createBooks(store, credits)
  return store
}

forEachEngine(t, 'a request is charged what it cost, and the rest of its hold is released', async (t, database) => {
  const store = await openBooks(database)
  const { ledger } = startLedger(t, store)
  const hold = await ledger.reserve(reservation(1_000))
  t.same(await ledger.balance('acme'), {
    creditsNano: usd, spentNano: 0, heldNano: 1_000, availableNano: usd - 1_000
  })
  const settled = hold.settle(posting(400, { ref: 'req-1', usage: { prompt: 3, completion: 4 } }))
  t.same(await ledger.balance('acme'), { creditsNano: usd, spentNano: 400, heldNano: 0, availableNano: usd - 400 })
  await settled
  t.match(await store.all("select * from entry where kind = 'usage'"), [{
    idempotency_key: `usage:${hold.id}`,
    debit: 'acme',
    credit: 'revenue',
    amount: 400,
    ref: 'req-1',
    model: 'a/model',
    usage: '{"prompt":3,"completion":4}',
    estimated: 0,
    hold: null,
    api_key: 'key',
    chain: 'acme'
  }])
  await assertBooks(t, store)
})

forEachEngine(t, 'a free request is booked with the amount 0 and leaves its account alone', async (t, database) => {
  const store = await openBooks(database)
  await createBooks(store, { poor: 0 }, 'other')
  const { ledger } = startLedger(t, store)
  const free = { chain: ['poor'], key: 'other', fresh: true }
  const [before] = await store.all("select * from account where id = 'poor'")
  const hold = ledger.reserve(reservation(0, free))
  if (hold instanceof Promise) throw new Error('it needs no query')
  t.equal(ledger.openHoldCount, 1)
  const usage = { prompt: 3, completion: 4 }
  await Promise.all([hold.settle(posting(0, { usage, provider: 'own', tags: { team: 'x' } })), hold.settle(posting(0))])
  const unused = await ledger.reserve(reservation(0, free))
  await unused.release()
  t.equal(ledger.openHoldCount, 0)
  t.same(await store.all("select * from account where id = 'poor'"), [before])
  t.same(await store.all("select * from hold where account = 'poor'"), [])
  t.match(await store.all("select * from entry where debit = 'poor'"), [{
    kind: 'usage',
    amount: 0,
    provider: 'own',
    api_key: 'other',
    chain: 'poor',
    hold: null,
    usage: '{"prompt":3,"completion":4,"tags":{"team":"x"}}'
  }])
  await assertBooks(t, store)
})

forEachEngine(t, 'a free request does not wait for the lock of its account', async (t, database) => {
  const store = await openBooks(database)
  const { ledger } = startLedger(t, store)
  await (await ledger.reserve(reservation(0, { fresh: true }))).settle(posting(0, { ref: 'first' }))
  const book = async () => await (await ledger.reserve(reservation(0, { fresh: true }))).settle(posting(0, { ref: 'second' }))
  // SQLite has one writer at a time, whatever it writes.
  if (store.engine === 'sqlite') await book()
  else {
    await store.transaction(async queries => {
      await queries.run("update account set held = held where id = 'acme'")
      await book()
    })
  }
  t.same(await store.all("select ref from entry where kind = 'usage' order by seq"), [{ ref: 'first' }, { ref: 'second' }])
})

forEachEngine(t, 'once an account is in use, a hold needs no database', async (t, database) => {
  const store = await openBooks(database)
  const { ledger } = startLedger(t, store)
  await spend(ledger, 1_000, 400)
  const hold = ledger.reserve(reservation(1_000))
  t.notOk(hold instanceof Promise)
  t.notOk(ledger.means('acme') instanceof Promise)
  t.same(await ledger.means('acme'), { availableNano: usd - 1_400, unspentNano: usd - 400 })
  await (await hold).release()
  t.match(await ledger.balance('acme'), { spentNano: 400, heldNano: 0 })
})

forEachEngine(t, 'a hold ends once, whatever is called again', async (t, database) => {
  const store = await openBooks(database)
  const { ledger } = startLedger(t, store)
  for (const durable of [false, true]) {
    const settled = await ledger.reserve(reservation(1_000, { durable }))
    await Promise.all([settled.settle(posting(10)), settled.settle(posting(20)), settled.release()])
    const released = await ledger.reserve(reservation(1_000, { durable }))
    await Promise.all([released.release(), released.release(), released.settle(posting(20))])
  }
  t.match(await ledger.balance('acme'), { spentNano: 20, heldNano: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'concurrent reservations never hold more than the account has', async (t, database) => {
  const store = await openBooks(database, { acme: 1_000 })
  const { ledger } = startLedger(t, store, { options: { heldWaitMs: 100 } })
  const outcomes = await Promise.allSettled(Array.from({ length: 64 }, async () => {
    return await ledger.reserve(reservation(70))
  }))
  const holds = outcomes.flatMap((outcome) => outcome.status === 'fulfilled' ? [outcome.value] : [])
  t.equal(holds.length, 14)
  t.match(await ledger.balance('acme'), { heldNano: 980, availableNano: 20 })
  await t.rejects(async () => await ledger.reserve(reservation(21)), moneyHeld)
  const last = await ledger.reserve(reservation(20))
  await Promise.all([...holds, last].map((hold) => hold.settle(posting(hold.amountNano))))
  t.same(await ledger.balance('acme'), { creditsNano: 1_000, spentNano: 1_000, heldNano: 0, availableNano: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'a 402 states balance, held and needed, and tells clients not to retry', async (t, database) => {
  const { ledger } = startLedger(t, await openBooks(database))
  await spend(ledger, 100_000_000, 100_000_000)
  await ledger.reserve(reservation(250_000_000))
  await t.rejects(async () => await ledger.reserve(reservation(2 * usd)), {
    status: 402,
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    headers: { 'x-should-retry': 'false' },
    message: /may cost up to \$2\.00; your balance is \$0\.90, of which \$0\.25 is held/
  })
})

forEachEngine(t, 'released money is available to the next request at once', async (t, database) => {
  const { ledger } = startLedger(t, await openBooks(database, { acme: 1_000 }))
  for (let round = 0; round < 20; round++) {
    const hold = await ledger.reserve(reservation(1_000))
    await hold.release()
  }
  for (let round = 0; round < 10; round++) {
    const hold = await ledger.reserve(reservation(1_000 - round * 100))
    hold.settle(posting(100))
  }
  await t.rejects(async () => await ledger.reserve(reservation(1)), tooPoor)
  t.match(await ledger.balance('acme'), { spentNano: 1_000, availableNano: 0 })
})

forEachEngine(t, 'a hold is taken on every account of its chain, or on none', async (t, database) => {
  const store = await openBooks(database, { acme: usd, team: 500, budget: 100 })
  const { ledger } = startLedger(t, store)
  const chain = ['acme', 'team', 'budget']
  await spend(ledger, 100, 60, { chain })
  for (const account of chain) t.match(await ledger.balance(account), { spentNano: 60, heldNano: 0 })

  await t.rejects(async () => await ledger.reserve(reservation(41, { chain })), tooPoor)
  for (const account of chain) t.match(await ledger.balance(account), { spentNano: 60, heldNano: 0 })
  const hold = await ledger.reserve(reservation(40, { chain, durable: true }))
  for (const account of chain) t.match(await ledger.balance(account), { spentNano: 60, heldNano: 40 })
  await hold.settle(posting(40))
  await t.rejects(async () => await ledger.reserve(reservation(1, { chain })), tooPoor)
  await spend(ledger, 400, 400, { chain: ['acme', 'team'] })
  t.match(await ledger.balance('team'), { spentNano: 500, availableNano: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'a durable amount has rows of its own in the database, a large one has not', async (t, database) => {
  const store = await openBooks(database, { acme: usd, budget: usd })
  const { ledger } = startLedger(t, store)
  const chain = ['acme', 'budget']
  const large = await ledger.reserve(reservation(500_000_000, { id: 'large', chain }))
  const job = await ledger.reserve(reservation(10, { id: 'job', chain, durable: true }))
  const rows = () => store.all(`
    select id, account, kind, amount, state from hold where kind <> 'node' order by id, account`)
  t.same(await rows(), [
    { id: 'job', account: 'acme', kind: 'job', amount: 10, state: 0 },
    { id: 'job', account: 'budget', kind: 'job', amount: 10, state: 0 }
  ])
  t.match(await ledger.balance('budget'), { heldNano: 500_000_010 })
  await Promise.all([large.settle(posting(7)), job.settle(posting(8))])
  t.match(await store.all('select state, settled from hold where id = $1', ['job']), [
    { state: 1, settled: 8 }, { state: 1, settled: 8 }
  ])
  t.match(await store.all("select amount, hold from entry where kind = 'usage' order by amount"), [
    { amount: 7, hold: null }, { amount: 8, hold: 'job' }
  ])
  await assertBooks(t, store)
})

forEachEngine(t, 'a durable hold reserved again is the same hold, on any node', async (t, database) => {
  const store = await openBooks(database)
  const [first, second] = [startLedger(t, store).ledger, startLedger(t, store).ledger]
  const job = reservation(1_000, { durable: true })
  const taken = await first.reserve(job)
  t.equal(await first.reserve(job), taken)
  const adopted = await second.reserve(job)
  t.match(await second.balance('acme'), { heldNano: 1_000 })
  await adopted.settle(posting(600))
  await taken.settle(posting(900))
  t.match(await first.balance('acme'), { spentNano: 600, heldNano: 0 })
  await t.rejects(async () => await second.reserve(job), { status: 409, code: 'idempotency_conflict' })
  await assertBooks(t, store)
})

forEachEngine(t, 'the database rejects durable holds of a key that has ended', async (t, database) => {
  const store = await openBooks(database)
  const keys = createKeys(store)
  const { ledger } = startLedger(t, store)
  const good = await keys.create({ account: 'acme', label: 'good' })
  const revoked = await keys.create({ account: 'acme', label: 'revoked' })
  const expired = await keys.create({ account: 'acme', label: 'expired', expiresAt: Date.now() + 60_000 })
  await keys.revoke(revoked.id)
  await store.run('update api_key set expires_at = 1 where id = $1', [expired.id])

  const reserve = async (key: string) => await ledger.reserve(reservation(1_000, { key, durable: true }))
  const outcomes = await Promise.allSettled([revoked.id, expired.id, 'unheard-of', good.id].map(reserve))
  t.match(outcomes, [
    { reason: { status: 401, code: 'invalid_api_key', message: /has been revoked/ } },
    { reason: { status: 401, message: /has expired/ } },
    { reason: { status: 401, message: /is not known/ } },
    { status: 'fulfilled' }
  ])
  t.match(await ledger.balance('acme'), { heldNano: 1_000 })
  await assertBooks(t, store)
})

const kinds = [['memory', {}], ['a fresh hold', { fresh: true }], ['a durable hold', { durable: true }]] as const
for (const [what, more] of kinds) {
  forEachEngine(t, `what a request cost above its hold goes to suspense: ${what}`, async (t, database) => {
    const store = await openBooks(database, { acme: 1_000 })
    const { ledger, log } = startLedger(t, store)
    const hold = await ledger.reserve(reservation(400, more))
    t.equal(hold.chargedNano, 0)
    const written = hold.settle(posting(Number.MAX_SAFE_INTEGER, { ref: 'req-1' }))
    t.equal(hold.chargedNano, 400)
    t.equal(await hold.settle(posting(1)), undefined, 'it is settled once')
    await written
    t.same(await ledger.balance('acme'), { creditsNano: 1_000, spentNano: 400, heldNano: 0, availableNano: 600 })
    const excessNano = Number.MAX_SAFE_INTEGER - 400
    t.match(await store.all("select * from entry where kind in ('usage', 'suspense') order by seq"), [
      { kind: 'usage', debit: 'acme', credit: 'revenue', amount: 400, ref: 'req-1', usage: /"prompt":1,"excessNano":9007199254740591/ },
      {
        kind: 'suspense',
        debit: 'suspense',
        credit: 'revenue',
        amount: excessNano,
        ref: 'req-1',
        api_key: 'key',
        model: 'a/model',
        chain: 'acme',
        reason: 'over_hold',
        usage: '{"prompt":1}'
      }
    ])
    t.match([ledger.overageCount, ledger.suspendedCount], [1, 0])
    t.match(log.lines.filter(({ level }) => level === 'warn'),
      [{ message: /excess is booked to suspense/, details: { reqId: 'req-1', amount: excessNano } }])
    await spend(ledger, 600, 600)
    t.match(await ledger.balance('acme'), { availableNano: 0 })
    await assertBooks(t, store)
  })
}

for (const [what, more] of kinds) {
  forEachEngine(t, `what a closed call may still cost is the rest of its hold in suspense: ${what}`, async (t, database) => {
    const store = await openBooks(database, { acme: 1_000 })
    const { ledger } = startLedger(t, store)
    const hold = await ledger.reserve(reservation(400, more))
    await hold.settle(posting(30, { ref: 'req-1', mayCostMore: true }))
    t.match(await ledger.balance('acme'), { spentNano: 30, heldNano: 0, availableNano: 970 })
    const [entry] = await store.all<{ seq: number }>("select * from entry where kind = 'suspense'")
    t.match(entry, { amount: 370, reason: 'unverified', usage: '{}', ref: 'req-1' })
    t.match([ledger.overageCount, ledger.suspendedCount], [0, 1])
    await createSuspense(store).clear({ entry: `entry_${entry?.seq}`, reason: 'the provider has charged it' })
    t.match(await ledger.balance('acme'), { spentNano: 400, availableNano: 600 })
    await assertBooks(t, store)
  })
}

forEachEngine(t, 'a deposit of another process counts for the next reservation', async (t, database) => {
  const store = await openBooks(database, { acme: 100 })
  const { ledger } = startLedger(t, store)
  await t.rejects(async () => await ledger.reserve(reservation(101)), tooPoor)
  await createAccounts(await database.open()).deposit({ id: 'more', account: 'acme', amountNano: 1 })
  const hold = await ledger.reserve(reservation(101))
  await hold.settle(posting(101))
  t.match(await ledger.balance('acme'), { creditsNano: 101, availableNano: 0 })
})

forEachEngine(t, 'a settlement under the id of an earlier one is not charged again', async (t, database) => {
  const store = await openBooks(database)
  const { ledger } = startLedger(t, store)
  for (const costNano of [30, 50]) await spend(ledger, 100, costNano, { id: 'twice' })
  t.match(await ledger.balance('acme'), { spentNano: 30, heldNano: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'closing commits everything and releases all holds', async (t, database) => {
  const store = await openBooks(database)
  const { ledger } = startLedger(t, store)
  const hold = await ledger.reserve(reservation(1_000))
  const unfinished = await ledger.reserve(reservation(1_000))
  const settled = hold.settle(posting(400))
  await ledger.close()
  await settled
  t.same(await rowOf(store), { credits: usd, spent: 400, held: 0 })
  t.match(thrown(() => ledger.reserve(reservation(1))), { name: 'StoreUnavailable' })
  await unfinished.settle(posting(400))
  t.same(await rowOf(store), { credits: usd, spent: 400, held: 0 })
  await assertBooks(t, store)
})

for (const [how, fresh] of [['with idempotency keys', false], ['with sequence numbers', true]] as const) {
  forEachEngine(t, `one wrong settlement in a batch keeps no other from being booked, ${how}`, async (t, database) => {
    const store = await openBooks(database)
    await refuseSomeEntries(store)
    const { ledger, log } = startLedger(t, store)
    await spend(ledger, 1_000, 100)
    const models = ['good', 'never', 'not as usage', 'good']
    const holds = await Promise.all(models.map(async () =>
      await ledger.reserve(reservation(1_000, { fresh }))))
    await Promise.allSettled(holds.map((hold, index) => hold.settle(posting(100, { model: models[index] ?? '' }))))
    t.match(await ledger.balance('acme'), { spentNano: 300, heldNano: 0 })
    t.match([ledger.lostCount, ledger.suspendedCount], [0, 2])
    t.match(await store.all("select debit, credit, amount, model, chain from entry where kind = 'suspense' order by model"), [
      { debit: 'suspense', credit: 'revenue', amount: 100, model: 'not as usage', chain: 'acme' },
      { debit: 'suspense', credit: 'revenue', amount: 100, model: 'unknown', chain: 'acme' }
    ])
    const errors = log.lines.filter(({ level }) => level === 'error')
    t.match(errors.find(({ message }) => /its amount is in suspense/.test(message)), {
      details: { chain: ['acme'], posting: { amountNano: 100, model: 'never' } }
    })
    await spend(ledger, 1_000, 100)
    await ledger.close()
    t.same(await rowOf(store), { credits: usd, spent: 400, held: 0 })
    await assertBooks(t, store)
  })
}

async function refuseSomeEntries (store: Store): Promise<void> {
  const refused = "new.model = 'never' or (new.model = 'not as usage' and new.kind = 'usage')"
  if (store.engine === 'sqlite') {
    await store.run(`
      create trigger refuse_some before insert on entry when ${refused}
      begin select raise(abort, 'refused'); end`)
  } else {
    await store.run(`alter table entry add check (not (${refused.replaceAll('new.', '')}))`)
  }
}

forEachEngine(t, 'invalid reservations and postings change nothing', async (t, database) => {
  const store = await openBooks(database)
  const { ledger } = startLedger(t, store)
  for (const amountNano of [-1, 0.5, NaN, 2 ** 53]) {
    t.match(thrown(() => ledger.reserve(reservation(amountNano))), { name: 'RangeError' }, String(amountNano))
  }
  for (const chain of [[], ['acme', 'acme'], Array.from({ length: 9 }, (_, index) => `a${index}`)]) {
    t.match(thrown(() => ledger.reserve(reservation(1, { chain }))), { name: 'RangeError' }, chain.join(' '))
  }
  t.match(thrown(() => ledger.reserve(reservation(1, { id: 'x'.repeat(201) }))), { name: 'RangeError' })
  await t.rejects(async () => await ledger.reserve(reservation(1, { chain: ['nobody'] })), GatewayError)

  const hold = await ledger.reserve(reservation(1_000))
  for (const amountNano of [-1, 0.5, NaN]) {
    t.match(thrown(() => hold.settle(posting(amountNano))), { name: 'RangeError' }, String(amountNano))
  }
  await hold.settle(posting(5))
  t.match(await ledger.balance('acme'), { spentNano: 5 })
  await t.rejects(ledger.balance('nobody'), { code: 'account_not_found' })
})
