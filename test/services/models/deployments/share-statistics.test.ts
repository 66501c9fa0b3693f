import t from 'tap'
import { breakerDefaults } from '../../../../services/config/defaults.ts'
import { createDeployments } from '../../../../services/models/deployments/deployments.ts'
import { createStatisticsExchange } from '../../../../services/models/deployments/share-statistics.ts'
import { forEachEngine } from '../../../helpers/engines.ts'

forEachEngine(t, 'nodes share their statistics through the store', async (t, database) => {
  const time = { now: Date.now() }
  const clock = () => time.now
  const start = async (node: string) => {
    const store = await database.open()
    const deployments = createDeployments({ config: () => ({ breaker: breakerDefaults }), clock })
    return { deployments, store, sharing: createStatisticsExchange({ store, deployments, node, clock }) }
  }
  const [one, other] = [await start('one'), await start('other')]
  const name = { provider: 'up', model: 'it\'s "a" model/ü' }
  for (let i = 0; i < 100; i++) one.deployments.of(name).statistics.recordFirstEvent(5000)
  one.deployments.of({ provider: 'up', model: 'second' }).statistics.recordFailure()
  await one.sharing.exchange()
  await other.sharing.exchange()
  const heard = other.deployments.expected(name.provider, name.model)
  t.ok(Math.abs(heard.firstTokenMs - one.deployments.expected(name.provider, name.model).firstTokenMs) < 1)
  t.ok(other.deployments.expected('up', 'second').errorRate > 0)

  const rows = async () => await one.store.all<{ node: string }>('select node from deployment_statistics')
  await one.sharing.exchange()
  t.equal((await rows()).length, 2, 'each deployment has one row for a node')
  other.deployments.of(name).statistics.recordFirstEvent(100)
  await other.sharing.exchange()
  t.equal((await rows()).length, 3)

  const later = await start('later')
  await later.sharing.exchange()
  t.ok(later.deployments.expected(name.provider, name.model).calls > 50, 'a new node knows them at once')
  time.now += 50 * 60_000
  await one.sharing.exchange()
  t.equal((await rows()).length, 0, 'rows without weight are deleted')
})
