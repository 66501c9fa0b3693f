import t from 'tap'
import { everything, providerIds, sample, serveAll } from './pool.ts'

t.setTimeout(600_000)

// test/chaos/auto-pool.test.ts asks each of them everything.
for (const id of providerIds) {
  t.test(`auto with the key of ${id} alone: 40 prompts`, t => serveAll(t, [id], sample))
}
t.test('auto with the keys of all providers: 40 prompts, 4 policies', t => serveAll(t, providerIds, everything))
