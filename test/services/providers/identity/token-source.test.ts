import t from 'tap'
import { createTokenSource, type AccessToken } from '../../../../services/providers/identity/token-source.ts'
import { rejection } from '../../../helpers/thrown.ts'

const { signal } = new AbortController()

/** A source of tokens that last an hour, with a clock of its own; each renewal waits for `finish`. */
function start () {
  const clock = { nowMs: 1_000_000 }
  const renewals: PromiseWithResolvers<AccessToken>[] = []
  const source = createTokenSource(() => {
    const renewal = Promise.withResolvers<AccessToken>()
    renewals.push(renewal)
    return renewal.promise
  }, () => clock.nowMs)
  const finish = async (at: number): Promise<void> => {
    renewals[at]?.resolve({ token: `token ${at}`, expiresAt: clock.nowMs + 3_600_000 })
    await new Promise(resolve => setImmediate(resolve))
  }
  return { clock, renewals, source, finish, get: async () => (await source.token(signal)).token }
}

t.test('calls that come together wait for one renewal, and later ones get its token', async t => {
  const { renewals, finish, get } = start()
  const waiting = [get(), get(), get()]
  await finish(0)
  t.same(await Promise.all(waiting), ['token 0', 'token 0', 'token 0'])
  t.equal(await get(), 'token 0')
  t.equal(renewals.length, 1)
})

t.test('a token is renewed before it ends, while the old one is still given out', async t => {
  const { clock, renewals, finish, get } = start()
  const first = get()
  await finish(0)
  await first
  clock.nowMs += 3_600_000 - 200_000
  t.same([await get(), await get()], ['token 0', 'token 0'])
  t.equal(renewals.length, 2, 'one renewal at a time')
  await finish(1)
  t.equal(await get(), 'token 1')
})

t.test('a renewal that fails is tried again after a pause, and awaited once the token has ended', async t => {
  const { clock, renewals, source, finish, get } = start()
  const first = get()
  await finish(0)
  await first
  clock.nowMs += 3_600_000 - 100_000
  t.equal(await get(), 'token 0')
  renewals[1]?.reject(new Error('unreachable'))
  await new Promise(resolve => setImmediate(resolve))
  t.equal(await get(), 'token 0')
  t.equal(renewals.length, 2)
  clock.nowMs += 10_000
  t.equal(await get(), 'token 0')
  t.equal(renewals.length, 3)
  renewals[2]?.reject(new Error('unreachable'))
  await new Promise(resolve => setImmediate(resolve))
  clock.nowMs += 80_000
  const failed = rejection(source.token(signal))
  renewals[3]?.reject(new Error('still unreachable'))
  t.match(await failed, { message: 'still unreachable' })
  const last = get()
  await finish(4)
  t.equal(await last, 'token 4')
})

t.test('a token that was refused is given out no more', async t => {
  const { clock, source, finish, get } = start()
  const first = get()
  await finish(0)
  await first
  t.equal(source.refused('token 0'), true)
  const second = get()
  await finish(1)
  t.equal(await second, 'token 1')
  t.equal(source.refused('token 0'), true, 'an older one than the current')
  t.equal(await get(), 'token 1')
  t.equal(source.refused('token 1'), false, 'the service refuses new tokens too')
  t.equal(await get(), 'token 1')
  clock.nowMs += 10_000
  t.equal(source.refused('token 1'), true)
  const third = get()
  await finish(2)
  t.equal(await third, 'token 2')
})

t.test('a request that is aborted does not end the renewal for the others', async t => {
  const { source, finish, get } = start()
  const client = new AbortController()
  const gone = rejection(source.token(client.signal))
  const other = get()
  client.abort()
  t.match(await gone, { kind: 'aborted', sent: 'no' })
  await finish(0)
  t.equal(await other, 'token 0')
  t.match(await rejection(source.token(AbortSignal.abort()).then(() => { throw new Error('had one') })), { message: 'had one' })
})
