import t from 'tap'
import { createAllowanceExchange, deleteExpiredLimits } from '../../../../services/keys/limits/allowances.ts'
import type { AllowanceRequest } from '../../../../services/keys/limits/allowances.ts'
import { slotLeaseMs } from '../../../../services/keys/limits/statements.ts'
import { forEachEngine } from '../../../helpers/engines.ts'

const minute = 10
const startMs = minute * 60_000

function request (more: Partial<AllowanceRequest> = {}): AllowanceRequest {
  return {
    scope: 'key:a',
    kind: 'requests',
    limit: 100,
    minute,
    taken: 0,
    need: 0,
    waiting: 0,
    wanted: 10,
    returned: null,
    ...more
  }
}

forEachEngine(t, 'a rate is granted from what all nodes have left, a quarter of it at most', async (t, database) => {
  const [one, other] = [
    createAllowanceExchange(await database.open(), 'one'), createAllowanceExchange(await database.open(), 'other')
  ]
  const window = { minute, used: 10, previous: 0 }
  t.match(await one([request()], startMs), [{ granted: 10, waitMs: 0, window }])
  t.match(await other([request({ wanted: 80 })], startMs), [{ granted: 22, window: { used: 32 } }])
  const waiting = request({ wanted: 60, waiting: 60, need: 60 })
  t.match(await one([waiting], startMs), [{ granted: 60, window: { used: 92 } }], 'more if requests wait')
  const tooMuch = request({ need: 9, waiting: 9, wanted: 9 })
  t.match(await one([tooMuch], startMs), [{ granted: 0, window: { used: 92 } }])
  const returned = { minute, amount: 20 }
  t.match(await one([request({ wanted: 0, returned })], startMs), [{ granted: 0, window: { used: 72 } }])
  t.match(await other([request({ taken: 40, wanted: 0 })], startMs), [{ window: { used: 112 } }],
    'what was taken counts even beyond the limit')
})

forEachEngine(t, 'a refused rate says how long to wait, and then there is enough', async (t, database) => {
  const exchange = createAllowanceExchange(await database.open(), 'one')
  await exchange([request({ taken: 100, wanted: 0 })], startMs)
  const need = { need: 10, waiting: 10, wanted: 10 }
  const [refused] = await exchange([request(need)], startMs + 1000)
  t.match(refused, { granted: 0 })
  const laterMs = startMs + 1000 + (refused?.waitMs ?? 0)
  const later = request({ ...need, minute: Math.floor(laterMs / 60_000) })
  t.match(await exchange([later], laterMs),
    [{ granted: 10, waitMs: 0, window: { minute: minute + 1, previous: 100 } }])
  const muchLater = request({ minute: minute + 5 })
  t.match(await exchange([muchLater], laterMs + 240_000), [{ window: { minute: minute + 5, previous: 0 } }])
  const returned = { minute: minute + 4, amount: 7 }
  t.match(await exchange([request({ minute: minute + 5, returned })], laterMs + 240_000),
    [{ window: { previous: 0 } }])
})

forEachEngine(t, 'slots are granted up to the limit, and those in use in any case', async (t, database) => {
  const store = await database.open()
  const one = createAllowanceExchange(store, 'one')
  const other = createAllowanceExchange(await database.open(), 'other')
  const slots = (more: object) => [request({ kind: 'concurrent', limit: 4, ...more })]
  t.match(await one(slots({ wanted: 3, need: 1 }), startMs), [{ granted: 3, waitMs: 0, window: { used: 0 } }])
  const more = slots({ wanted: 3, need: 1 })
  t.match(await other(more, startMs), [{ granted: 1, waitMs: 0, window: { used: 3 } }])
  t.match(await other(slots({ taken: 1, wanted: 1, need: 1 }), startMs), [{ granted: 1, waitMs: 1000 }])
  t.match(await other(slots({ taken: 2, limit: 1, wanted: 0 }), startMs), [{ granted: 2, waitMs: 0 }])
  t.match(await one(slots({ wanted: 0 }), startMs), [{ granted: 0 }])
  t.same(await store.all('select node, slots from slot_lease'), [{ node: 'other', slots: 2 }])
  const expiredMs = startMs + slotLeaseMs
  t.match(await one(slots({ wanted: 4, need: 1 }), expiredMs), [{ granted: 4, window: { used: 0 } }], 'expired')
})

forEachEngine(t, 'nodes that exchange at the same time never take more than a limit', async (t, database) => {
  const store = await database.open()
  let granted = 0
  await Promise.all(['one', 'two', 'three', 'four'].map(async node => {
    const exchange = createAllowanceExchange(await database.open(), node)
    for (let round = 0; round < 10; round++) {
      const rate = request({ need: 4, waiting: 4, wanted: 4 })
      const slot = request({ kind: 'concurrent', limit: 5, need: 1, wanted: 1 + round % 3 })
      for (const grant of await exchange([rate, slot], startMs)) {
        if (grant.request === rate) granted += grant.granted
      }
    }
  }))
  t.equal(granted, 100)
  t.match(await store.get("select used from rate_window where kind = 'requests'"), { used: 100 })
  const row = await store.get<{ slots: number }>('select cast(sum(slots) as bigint) as slots from slot_lease')
  t.ok(row !== undefined && row.slots <= 5, `${row?.slots} of 5 slots`)
})

forEachEngine(t, 'one exchange serves limits of every kind and scope', async (t, database) => {
  const exchange = createAllowanceExchange(await database.open(), 'one')
  const requests = [
    request(), request({ kind: 'tokens', limit: 1000 }), request({ scope: 'key:b' }),
    request({ kind: 'concurrent', limit: 2, wanted: 1 })
  ]
  const grants = await exchange(requests, startMs)
  t.same(new Set(grants.map(grant => grant.request)), new Set(requests))
  t.same(grants.map(({ request: { kind }, granted }) => [kind, granted]),
    [['requests', 10], ['tokens', 10], ['requests', 10], ['concurrent', 1]])
})

forEachEngine(t, 'limits that were not used for an hour and expired leases are deleted', async (t, database) => {
  const store = await database.open()
  const exchange = createAllowanceExchange(store, 'one')
  await exchange([request(), request({ kind: 'concurrent', limit: 2, wanted: 1 })], startMs)
  const count = async () => [
    (await store.all('select scope from rate_window')).length, (await store.all('select scope from slot_lease')).length
  ]
  await deleteExpiredLimits(store, startMs + slotLeaseMs)
  t.same(await count(), [2, 1])
  await deleteExpiredLimits(store, startMs + 60 * 60_000)
  t.same(await count(), [2, 0])
  await deleteExpiredLimits(store, startMs + 61 * 60_000)
  t.same(await count(), [0, 0])
})
