import t from 'tap'
import type { BrowserSession } from '../../../../services/keys/sessions/session.ts'
import { createSessions } from '../../../../services/keys/sessions/sessions.ts'
import { createSignInAttempts } from '../../../../services/keys/sessions/sign-in-attempts.ts'
import { newToken } from '../../../../services/keys/sessions/token.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { rejection } from '../../../helpers/thrown.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const holder = { kind: 'environment', proof: 'x' } as const
const cookieOf = (token: string): string => `tollgate_session=${token}`

forEachEngine(t, 'a session ends when it is idle, and after half a day in any case', async (t, { open }) => {
  let now = 1_800_000_000_000
  const start = now
  const store = await open(() => now)
  const sessions = createSessions(store)
  const first = await sessions.start({ token: newToken(), holder, actor: 'env' })
  const cookie = cookieOf(first.token)
  t.strictSame(await sessions.read(cookie, false), first)

  now = start + hourMs - 1
  t.not(await sessions.read(cookie, false), null)
  now = start + hourMs
  t.equal(await sessions.read(cookie, false), null, 'idle')

  for (now = start; now + 50 * minuteMs < start + 12 * hourMs;) {
    now += 50 * minuteMs
    const session = await sessions.read(cookie, false)
    t.not(session, null)
    if (session !== null) await sessions.touch(session)
  }
  now = start + 12 * hourMs - 1
  t.not(await sessions.read(cookie, false), null)
  now = start + 12 * hourMs
  t.equal(await sessions.read(cookie, false), null, 'too old')
})

forEachEngine(t, 'the use of a session is written once a minute', async (t, { open }) => {
  let now = 1_800_000_000_000
  const store = await open(() => now)
  let writes = 0
  const { clock, get } = store
  const sessions = createSessions({ clock, get, run: (...given) => { writes++; return store.run(...given) } })
  const session = await sessions.start({ token: newToken(), holder, actor: 'env' })
  writes = 0
  now += minuteMs - 1
  await sessions.touch(session)
  t.equal(writes, 0)
  now += 1
  await sessions.touch(session)
  const found = await sessions.read(cookieOf(session.token), false)
  t.strictSame([writes, found?.seenAt], [1, now])
  if (found !== null) await sessions.touch(found)
  t.equal(writes, 1)
})

forEachEngine(t, 'sessions that signed out or expired leave no row', async (t, { open }) => {
  let now = 1_800_000_000_000
  const store = await open(() => now)
  const sessions = createSessions(store)
  const begin = async (actor: string) => await sessions.start({ token: newToken(), holder, actor })
  const isAlive = async ({ token }: BrowserSession) => await sessions.read(cookieOf(token), false) !== null
  const one = await begin('a')
  const two = await begin('a')
  const other = await begin('b')
  const all = [one, two, await begin('a'), other]
  await sessions.end(one)
  t.strictSame(await Promise.all(all.map(isAlive)), [false, true, true, true])
  await sessions.endAll(two)
  t.strictSame(await Promise.all(all.map(isAlive)), [false, false, false, true])
  now += hourMs
  await begin('c')
  t.same(await store.all('select actor from console_session'), [{ actor: 'c' }])
})

forEachEngine(t, 'a sign-in attempt starts one session, on whichever node', async (t, { open }) => {
  let now = 1_800_000_000_000
  const nodes = [createSessions(await open(() => now)), createSessions(await open(() => now))]
  const tries = await Promise.allSettled([...nodes, ...nodes].map(sessions => sessions.useAttempt('0.a-token')))
  t.same(tries.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected', 'rejected'])
  now += 20 * minuteMs - 1
  for (const sessions of nodes) t.match(await rejection(sessions.useAttempt('0.a-token')), { status: 401, code: 'sign_in_failed' })
})

t.test('an address that tried ten wrong keys has no more for five minutes, nor has its IPv6 network', async t => {
  let now = 0
  const attempts = createSignInAttempts(() => now)
  const thrownBy = (address: string): unknown => {
    try {
      return attempts.fail(address)
    } catch (error) {
      return error
    }
  }
  for (let tries = 0; tries < 10; tries++) {
    attempts.fail('192.0.2.1')
    attempts.fail(`2001:db8:1:2::${tries}`)
    attempts.fail(`2001:db8::${tries}:1:2:3`)
  }
  t.match(thrownBy('192.0.2.1'), { status: 429, headers: { 'retry-after': '300' } })
  t.match(thrownBy('2001:db8:1:2::ffff'), { status: 429 })
  t.match(thrownBy('2001:0db8:0:0:ffff::'), { status: 429 }, 'in any spelling')
  t.equal(thrownBy('192.0.2.2'), undefined)
  t.equal(thrownBy('2001:db8:1:3::1'), undefined)
  now = 5 * minuteMs
  t.equal(thrownBy('192.0.2.1'), undefined)
})
