import t from 'tap'
import { breakerDefaults } from '../../../services/config/defaults.ts'
import { createDeployments } from '../../../services/models/deployments/deployments.ts'
import { createStatisticsExchange } from '../../../services/models/deployments/share-statistics.ts'
import { createRouter } from '../../../services/routing/router.ts'
import type { Store } from '../../../services/store/store.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { routingRequest, modelOf, weights } from './helper.ts'
import { fixedCatalogue } from './fixed-catalogue.ts'

const sharedEveryMs = 3000
const quality = { quality: { chat: 0.8, knowledge: 0.8, code: 0.8, math: 0.8, tools: 0.8, extraction: 0.8 } }
const models = [modelOf({ id: 'quick', ...quality }), modelOf({ id: 'steady', ...quality })]

/** How each model behaves, changed while the simulation runs. */
type World = Record<string, { firstMs: number, tokensPerMs: number }>

/** One gateway: real statistics and sharing on the common store, with the simulation's clock. */
function createNode (store: Store, name: string, clock: () => number) {
  const config = () => ({ breaker: breakerDefaults })
  const deployments = createDeployments({ config, clock, monotonic: clock })
  const sharing = createStatisticsExchange({ store, deployments, node: name, clock })
  const router = createRouter({
    catalogue: fixedCatalogue(models),
    deployments,
    weights
  })
  return {
    sharing,
    choose: () => router.decide(routingRequest(
      'Write a short story about a fox.', { model: 'auto:speed' }
    )).candidates[0]?.id ?? '',
    call (model: string, world: World) {
      const { firstMs, tokensPerMs } = world[model] ?? { firstMs: 0, tokensPerMs: 1 }
      const { statistics } = deployments.of({ provider: 'up', model })
      statistics.recordFirstEvent(firstMs)
      statistics.recordStreamEnd(200, 200 / tokensPerMs)
    }
  }
}

forEachEngine(t, 'auto:speed avoids a deployment that becomes slow within 10 s on both nodes, and returns to it', async (t, database) => {
  const store = await database.open()
  let nowMs = 1_000_000
  const clock = () => nowMs
  const busy = createNode(store, 'busy', clock)
  const idle = createNode(store, 'idle', clock)
  const world: World = {
    quick: {
      firstMs: 100, tokensPerMs: 0.2
    },
    steady: { firstMs: 600, tokensPerMs: 0.1 }
  }

  /** Lets both nodes work for some time: four requests a second at one, one in five seconds at the other. */
  async function run (ms: number, until: () => boolean = () => false): Promise<number> {
    const startedMs = nowMs
    for (; nowMs - startedMs < ms && !until(); nowMs += 250) {
      busy.call(busy.choose(), world)
      if (nowMs % 5000 === 0) idle.call(idle.choose(), world)
      if (nowMs % sharedEveryMs === 0) for (const { sharing } of [busy, idle]) await sharing.exchange()
    }
    return nowMs - startedMs
  }
  const both = (model: string) => () => busy.choose() === model && idle.choose() === model

  busy.call('steady', world)
  await run(60_000)
  t.ok(both('quick')(), 'the quick one is used')

  world.quick = { firstMs: 6000, tokensPerMs: 0.02 }
  const leftMs = await run(60_000, both('steady'))
  t.ok(leftMs <= 10_000, `both have left after ${leftMs} ms`)
  await run(30_000)
  t.ok(both('steady')(), 'and stay away')

  world.quick = { firstMs: 100, tokensPerMs: 0.2 }
  const backMs = await run(3_600_000, both('quick'))
  t.ok(backMs < 3_600_000, `both are back after ${backMs / 1000} s`)
  await run(30_000)
  t.ok(both('quick')(), 'and stay')
})
