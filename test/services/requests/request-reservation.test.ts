import t from 'tap'
import type { Charge } from '../../../services/billing/charge.ts'
import { createRequestReservations, reserveForJob } from '../../../services/requests/request-reservation.ts'
import { createFakeLedger } from './helper.ts'

const payer = { key: 'key', chain: ['acme', 'budget'] }

function charge (amountNano: number, estimated = false): Charge {
  return { amountNano, usage: { prompt: 1 }, estimated }
}

function createTest (creditNano?: number) {
  const ledger = createFakeLedger(creditNano)
  const errors: unknown[] = []
  let count = 0
  const holds = createRequestReservations({
    ledger,
    newId: () => `h${++count}`,
    onError: error => { errors.push(error) }
  })
  return { ledger, errors, holds, hold: holds(payer, 'req-1') }
}

const settled = () => new Promise(setImmediate)

t.test('a request is charged what it cost, and the rest is released', async t => {
  const { ledger, hold } = createTest()
  await hold.reserve('a/model', { maxNano: 100 })
  t.equal(ledger.heldNano, 100)
  t.match(await hold.settle(() => charge(60), 'own'), { costNano: 60, estimate: null })
  hold.release()
  t.same(ledger.events, ['hold 100', 'settle 60'])
  const booked = { amountNano: 60, ref: 'req-1', model: 'a/model', usage: { prompt: 1 }, estimated: false }
  t.same(ledger.postings, [{ ...booked, provider: 'own', tags: null }])
})

t.test('a request that costs more than its hold is charged the hold', async t => {
  const { ledger, hold } = createTest()
  await hold.reserve('a/model', { maxNano: 100 })
  t.match(await hold.settle(() => charge(101)), { costNano: 100 })
  t.same(ledger.events, ['hold 100', 'settle 101'], 'the ledger books the excess')
})

t.test('a free candidate holds nothing and is charged nothing', async t => {
  const { ledger, hold } = createTest()
  await hold.reserve('free', { maxNano: 0 })
  t.match(await hold.settle(() => charge(5)), { costNano: 0 })
  t.same(ledger.events, ['hold 0', 'settle 5'], 'the ledger books the excess')
})

t.test('another candidate replaces the hold: the first is released before the second is taken', async t => {
  const { ledger, hold } = createTest(100)
  await hold.reserve('a/model', { maxNano: 100 })
  await hold.reserve('b/model', { maxNano: 80 })
  t.match(await hold.settle(() => charge(90)), { costNano: 80 }, 'the second hold bounds the charge')
  t.same(ledger.events, ['hold 100', 'release 100', 'hold 80', 'settle 90'])
  t.match(ledger.postings, [{ model: 'b/model' }])
})

t.test('a candidate that the account cannot cover leaves nothing held', async t => {
  const { ledger, hold } = createTest(100)
  await hold.reserve('a/model', { maxNano: 100 })
  await t.rejects(async () => await hold.reserve('b/model', { maxNano: 101 }), { status: 402, code: 'insufficient_quota' })
  t.equal(ledger.heldNano, 0)
  hold.release()
  t.same(ledger.events, ['hold 100', 'release 100', 'hold 101'])
})

t.test('a price that follows from the money of the account is asked for again when that was spent', async t => {
  const quotes = (...amounts: number[]) => async () => ({ maxNano: amounts.shift() ?? 0 })
  const { hold, ledger } = createTest(100)
  t.same(await hold.reserveQuoted('a/model', quotes(400, 200, 100)), { maxNano: 100 })
  t.equal(ledger.heldNano, 100)
  const refused = { status: 402, code: 'insufficient_quota' }
  await t.rejects(async () => await hold.reserveQuoted('a/model', quotes(400, 300, 200, 100)), refused, 'not for ever')
  await t.rejects(async () => await hold.reserveQuoted('a/model', quotes(400, 400, 1)), refused, 'not if it does not get lower')
  t.equal(ledger.heldNano, 0)
})

t.test('a request is settled once', async t => {
  const { ledger, hold } = createTest()
  await hold.reserve('a/model', { maxNano: 100 })
  t.match(await hold.settle(() => charge(60)), { costNano: 60 })
  t.match(await hold.settle(() => charge(70)), { costNano: 60 }, 'with the same outcome')
  t.same(ledger.events, ['hold 100', 'settle 60'])
})

t.test('the end releases what was not settled, and nothing is charged after it', async t => {
  const { ledger, hold } = createTest()
  await hold.reserve('a/model', { maxNano: 100 })
  hold.release()
  hold.release()
  t.match(await hold.settle(() => charge(60)), { costNano: null })
  t.same(ledger.events, ['hold 100', 'release 100'])
})

t.test('an estimate is charged when it is known; until then the money stays held', async t => {
  const { ledger, hold } = createTest()
  await hold.reserve('a/model', { maxNano: 100 })
  const estimate = Promise.withResolvers<Charge>()
  const settling = hold.settle(() => estimate.promise)
  hold.release()
  t.equal(ledger.heldNano, 100)
  estimate.resolve({ ...charge(40, true), isUsageEstimated: true })
  t.match(await settling, { costNano: 40, estimate: { prompt: 1 } })
  t.same(ledger.events, ['hold 100', 'settle 40'])
  t.match(ledger.postings, [{ estimated: true }])
})

t.test('a charge that cannot be computed is reported and releases the hold', async t => {
  const wrong = new Error('no price')
  for (const chargeFor of [(): never => { throw wrong }, () => Promise.reject(wrong)]) {
    const { ledger, errors, hold } = createTest()
    await hold.reserve('a/model', { maxNano: 100 })
    t.match(await hold.settle(chargeFor), { costNano: null })
    hold.release()
    t.same(errors, [wrong])
    t.same(ledger.events, ['hold 100', 'release 100'])
  }
})

t.test('a cost that the ledger does not accept is reported and releases the hold', async t => {
  const { ledger, errors, hold } = createTest()
  await hold.reserve('a/model', { maxNano: 100 })
  t.match(await hold.settle(() => charge(NaN)), { costNano: null })
  t.match(errors, [{ name: 'RangeError' }])
  t.same(ledger.events, ['hold 100', 'release 100'])
})

t.test('a write that fails for several requests is reported once', async t => {
  const { ledger, errors, holds } = createTest()
  const wrong = new Error('rejected')
  ledger.written = Promise.reject(wrong)
  for (const id of ['one', 'two']) {
    const hold = holds(payer, id)
    await hold.reserve('a/model', { maxNano: 10 })
    await hold.settle(() => charge(1))
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
  t.same(await reserveForJob(ledger, payer, { id: 'job-1', maxNano: 100, expiresAt: 7 }), held)
  t.same(reserved, [{ ...held, durable: true, expiresAt: 7 }])
  t.same(fake.events, ['hold 100', 'forget job-1'])
  t.equal(await reserveForJob(ledger, payer, { id: 'job-2', maxNano: 0, expiresAt: 7 }), null, 'a free job')
  t.equal(reserved.length, 1)
})

t.test('who waits for a charge to be written is told of no failure, which the operator gets', async t => {
  const { ledger, hold, errors } = createTest()
  await hold.written()
  await hold.reserve('a/model', { maxNano: 100 })
  const { promise, reject } = Promise.withResolvers<void>()
  ledger.written = promise
  await hold.settle(() => charge(60))
  let isWritten = false
  const written = hold.written().then(() => { isWritten = true })
  await settled()
  t.equal(isWritten, false)
  t.equal(errors.length, 0)
  reject(new Error('rejected for good'))
  await written
  t.match(errors, [{ message: 'rejected for good' }])
})
