import t from 'tap'
import { breakerDefaults } from '../../../services/config/defaults.ts'
import { createDeployments } from '../../../services/deployments/deployments.ts'

const name = { provider: 'a', model: 'b' }

const config = () => ({ breaker: breakerDefaults })

t.test('an unknown deployment is available, is expected to match the prior, and stays unknown', async t => {
  const deployments = createDeployments({ config })
  const prior = { firstTokenMs: 7, tokensPerSecond: 8 }
  t.match(deployments.expected('a', 'b', prior), prior)
  t.ok(deployments.isAvailable(name))
  t.equal(deployments.list().length, 0)
})

t.test('a deployment is unavailable while it is paused or its breaker is open', async t => {
  const time = { ms: 0 }
  const monotonic = () => time.ms
  const deployments = createDeployments({ config, monotonic, random: () => 0.5 })
  const { breaker } = deployments.of(name)
  breaker.pause(100, 0)
  t.notOk(deployments.isAvailable(name))
  time.ms = 100
  t.ok(deployments.isAvailable(name))
  breaker.trip(100)
  t.notOk(deployments.isAvailable(name))
  time.ms += breakerDefaults.openMs
  t.ok(deployments.isAvailable(name))
})

t.test('the least recently used deployments are evicted beyond 5000', async t => {
  const deployments = createDeployments({ config })
  for (let i = 0; i < 6000; i++) deployments.of({ provider: 'up', model: `made-up-${i}` })
  t.equal(deployments.list().length, 5000)
  t.equal(deployments.list()[0]?.name.model, 'made-up-5999')
})
