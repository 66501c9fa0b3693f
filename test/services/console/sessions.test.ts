import t from 'tap'
import { createSessions } from '../../../services/console/sessions.ts'
import { createSignInAttempts } from '../../../services/console/sign-in-attempts.ts'
import { forEachEngine } from '../../engines.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const holder = { kind: 'environment', proof: 'x' } as const
const carried = (setCookie: string | null): string => setCookie?.split(';', 1)[0] ?? ''

forEachEngine(t, 'a session ends when it is idle, and after half a day in any case', async (t, { open }) => {
  let now = 1_800_000_000_000
  const start = now
  const store = await open(() => now)
  const sessions = await createSessions(store)
  const first = sessions.start(holder, false)
  let cookie = carried(await sessions.cookieOf(first))
  t.match(await sessions.read(cookie, false), first)
  t.equal(await sessions.renewed(first), null, 'a new cookie is not renewed')

  const idle = cookie
  now = start + hourMs - 1
  t.match(await sessions.read(idle, false), { id: first.id })
  now = start + hourMs
  t.equal(await sessions.read(idle, false), null, 'idle')

  for (now = start; now + 50 * minuteMs < start + 12 * hourMs;) {
    now += 50 * minuteMs
    const session = await sessions.read(cookie, false)
    t.equal(session?.id, first.id)
    if (session !== null) cookie = carried(await sessions.renewed(session))
  }
  now = start + 12 * hourMs - 1
  t.not(await sessions.read(cookie, false), null)
  now = start + 12 * hourMs
  t.equal(await sessions.read(cookie, false), null, 'too old')
})

forEachEngine(t, 'a session that signed out is forgotten once it would have expired', async (t, { open }) => {
  let now = 1_800_000_000_000
  const store = await open(() => now)
  const sessions = await createSessions(store)
  const one = sessions.start(holder, false)
  await sessions.end(one)
  await sessions.end(one)
  t.equal(await sessions.read(carried(await sessions.cookieOf(one)), false), null)
  now += 12 * hourMs
  const other = sessions.start(holder, false)
  await sessions.end(other)
  t.same(await store.all('select id from ended_session'), [{ id: other.id }])
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
