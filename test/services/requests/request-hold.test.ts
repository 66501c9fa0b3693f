import t from 'tap'
import type { Charge } from '../../../services/billing/charge.ts'
import { createRequestHolds, holdForJob } from '../../../services/requests/request-hold.ts'
import { createFakeLedger } from './helper.ts'

const payer = { key: 'key', chain: ['acme', 'budget'] }

function charge (amountNano: number, estimated = false): Charge {
  return { amountNano, usage: { prompt: 1 }, estimated }
}

function createTest (creditNano?: number) {
  const ledger = createFakeLedger(creditNano)
  const errors: unknown[] = []
  const excesses: object[] = []
  let count = 0
  const holds = createRequestHolds({
    ledger,
    newId: () => `h${++count}`,
    onError: error => { errors.push(error) },
    onExcess: excess => { excesses.push(excess) }
  })
  return { ledger, errors, excesses, holds, hold: holds(payer, 'req-1') }
}

const settled = () => new Promise(setImmediate)

t.test('a request is charged what it cost, and the rest is released', async t => {
  const { ledger, excesses, hold } = createTest()
  await hold.cover('a/model', { maxNano: 100 })
  t.equal(ledger.heldNano, 100)
  t.equal(hold.settle(() => charge(60)), 60)
  hold.end()
  t.same(ledger.events, ['hold 100', 'settle 60'])
  t.same(ledger.postings, [{ amountNano: 60, ref: 'req-1', model: 'a/model', usage: { prompt: 1 }, estimated: false }])
  t.same(excesses, [])
})

t.test('a request that costs more than its hold is charged the hold, and the excess is reported', async t => {
  const { ledger, excesses, hold } = createTest()
  await hold.cover('a/model', { maxNano: 100 })
  t.equal(hold.settle(() => charge(101)), 100)
  t.same(ledger.events, ['hold 100', 'settle 100'])
  t.same(excesses, [{ requestId: 'req-1', model: 'a/model', heldNano: 100, costNano: 101 }])
})

t.test('a request that costs all of its hold is no excess', async t => {
  const { excesses, hold } = createTest()
  await hold.cover('a/model', { maxNano: 100 })
  t.equal(hold.settle(() => charge(100)), 100)
  t.same(excesses, [])
})

t.test('a free candidate holds nothing; a cost all the same is reported and not charged', async t => {
  const { ledger, excesses, hold } = createTest()
  await hold.cover('free', { maxNano: 0 })
  t.equal(hold.settle(() => charge(5)), 0)
  t.same(ledger.events, [])
  t.match(excesses, [{ model: 'free', heldNano: 0, costNano: 5 }])
})

t.test('another candidate replaces the hold: the first is released before the second is taken', async t => {
  const { ledger, hold } = createTest(100)
  await hold.cover('a/model', { maxNano: 100 })
  await hold.cover('b/model', { maxNano: 80 })
  t.equal(hold.settle(() => charge(90)), 80, 'the second hold bounds the charge')
  t.same(ledger.events, ['hold 100', 'release 100', 'hold 80', 'settle 80'])
  t.match(ledger.postings, [{ model: 'b/model' }])
})

t.test('a candidate that the account cannot cover leaves nothing held', async t => {
  const { ledger, hold } = createTest(100)
  await hold.cover('a/model', { maxNano: 100 })
  await t.rejects(hold.cover('b/model', { maxNano: 101 }), { status: 402, code: 'insufficient_quota' })
  t.equal(ledger.heldNano, 0)
  hold.end()
  t.same(ledger.events, ['hold 100', 'release 100', 'hold 101'])
})

t.test('a request is settled once', async t => {
  const { ledger, hold } = createTest()
  await hold.cover('a/model', { maxNano: 100 })
  t.equal(hold.settle(() => charge(60)), 60)
  t.equal(hold.settle(() => charge(70)), null)
  t.same(ledger.events, ['hold 100', 'settle 60'])
})

t.test('the end releases what was not settled, and nothing is charged after it', async t => {
  const { ledger, hold } = createTest()
  await hold.cover('a/model', { maxNano: 100 })
  hold.end()
  hold.end()
  t.equal(hold.settle(() => charge(60)), null)
  t.same(ledger.events, ['hold 100', 'release 100'])
})

t.test('an estimate is charged when it is known; until then the money stays held', async t => {
  const { ledger, hold } = createTest()
  await hold.cover('a/model', { maxNano: 100 })
  const estimate = Promise.withResolvers<Charge>()
  t.equal(hold.settle(() => estimate.promise), null)
  hold.end()
  t.equal(ledger.heldNano, 100)
  estimate.resolve(charge(40, true))
  await settled()
  t.same(ledger.events, ['hold 100', 'settle 40'])
  t.match(ledger.postings, [{ estimated: true }])
})

t.test('a charge that cannot be computed is reported and releases the hold', async t => {
  const wrong = new Error('no price')
  for (const chargeFor of [(): never => { throw wrong }, () => Promise.reject(wrong)]) {
    const { ledger, errors, hold } = createTest()
    await hold.cover('a/model', { maxNano: 100 })
    t.equal(hold.settle(chargeFor), null)
    hold.end()
    await settled()
    t.same(errors, [wrong])
    t.same(ledger.events, ['hold 100', 'release 100'])
  }
})

t.test('a write that fails for several requests is reported once', async t => {
  const { ledger, errors, holds } = createTest()
  const wrong = new Error('rejected')
  ledger.written = Promise.reject(wrong)
  for (const id of ['one', 'two']) {
    const hold = holds(payer, id)
    await hold.cover('a/model', { maxNano: 10 })
    hold.settle(() => charge(1))
  }
  await settled()
  t.same(errors, [wrong])
})

t.test('a job\'s money is held durably until it expires, and the process forgets it', async t => {
  const reserved: object[] = []
  const fake = createFakeLedger()
  const ledger = {
    forget: fake.forget,
    reserve: (reservation: Parameters<typeof fake.reserve>[0]) => {
      reserved.push(reservation)
      return fake.reserve(reservation)
    }
  }
  const held = { id: 'job-1', key: 'key', chain: ['acme', 'budget'], amountNano: 100 }
  t.same(await holdForJob(ledger, payer, { id: 'job-1', maxNano: 100, expiresAt: 7 }), held)
  t.same(reserved, [{ ...held, durable: true, expiresAt: 7 }])
  t.same(fake.events, ['hold 100', 'forget job-1'])
  t.equal(await holdForJob(ledger, payer, { id: 'job-2', maxNano: 0, expiresAt: 7 }), null, 'a free job')
  t.equal(reserved.length, 1)
})
