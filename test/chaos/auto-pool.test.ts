import t from 'tap'
import { everything, providerIds, serveAll } from '../contract/auto/pool.ts'

t.setTimeout(600_000)

for (const id of providerIds) {
  t.test(`auto with the key of ${id} alone: 40 prompts, 4 policies`, t => serveAll(t, [id], everything))
}
