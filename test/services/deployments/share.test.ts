import t from 'tap'
import { breakerDefaults } from '../../../schemas/config/requests.ts'
import { createDeployments } from '../../../services/deployments/deployments.ts'
import { createSharing } from '../../../services/deployments/share.ts'
import { forEachEngine } from '../../engines.ts'

forEachEngine(t, 'nodes share what they measure through the store', async (t, database) => {
  const time = { now: Date.now() }
  const clock = () => time.now
  const start = async (node: string) => {
    const store = await database.open()
    const deployments = createDeployments({ breaker: () => breakerDefaults, clock })
    return { deployments, store, sharing: createSharing({ store, deployments, node, clock }) }
  }
  const [one, other] = [await start('one'), await start('other')]
  const name = { provider: 'up', model: 'it\'s "a" model/ü' }
  for (let i = 0; i < 100; i++) one.deployments.of(name).record.started(5000)
  one.deployments.of({ provider: 'up', model: 'second' }).record.failed()
  await one.sharing.exchange()
  await other.sharing.exchange()
  const heard = other.deployments.expected(name.provider, name.model)
  t.ok(Math.abs(heard.firstTokenMs - one.deployments.expected(name.provider, name.model).firstTokenMs) < 1)
  t.ok(other.deployments.expected('up', 'second').errorRate > 0)

  const rows = async () => await one.store.all<{ node: string }>('select node from deployment_statistics')
  await one.sharing.exchange()
  t.equal((await rows()).length, 2, 'each deployment has one row for a node')
  other.deployments.of(name).record.started(100)
  await other.sharing.exchange()
  t.equal((await rows()).length, 3)

  const later = await start('later')
  await later.sharing.exchange()
  t.ok(later.deployments.expected(name.provider, name.model).calls > 50, 'a node that starts anew knows at once')
  time.now += 50 * 60_000
  await one.sharing.exchange()
  t.equal((await rows()).length, 0, 'what has no weight any more is forgotten')
})

t.test('what nobody knows is the seed, and asking leaves no trace', async t => {
  const deployments = createDeployments({ breaker: () => breakerDefaults })
  t.match(deployments.expected('a', 'b', { firstTokenMs: 7, tokensPerSecond: 8 }), { firstTokenMs: 7, tokensPerSecond: 8 })
  t.ok(deployments.isAvailable({ provider: 'a', model: 'b' }))
  t.equal(deployments.list().length, 0)
})

t.test('no more than so many are remembered', async t => {
  const deployments = createDeployments({ breaker: () => breakerDefaults })
  for (let i = 0; i < 6000; i++) deployments.of({ provider: 'up', model: `made-up-${i}` })
  t.equal(deployments.list().length, 5000)
})
