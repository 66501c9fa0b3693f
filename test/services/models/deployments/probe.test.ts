import t from 'tap'
import { breakerDefaults } from '../../../../services/config/defaults.ts'
import { createDeployments } from '../../../../services/models/deployments/deployments.ts'
import { createProber } from '../../../../services/models/deployments/probe.ts'
import { UpstreamError } from '../../../../services/shared/errors.ts'

const { signal } = new AbortController()

/** A prober of one provider with one deployment; `list` answers for the provider's list of models. */
function start (list?: (signal: AbortSignal) => Promise<string[]>) {
  const deployments = createDeployments({ config: () => ({ breaker: breakerDefaults }), monotonic: () => 0 })
  const { breaker } = deployments.of({ provider: 'up', model: 'm' })
  const other = deployments.of({ provider: 'other', model: 'm' }).breaker
  const up = { id: 'up', close: async () => {}, ...(list && { models: list }) }
  const prober = createProber({ deployments, provider: id => id === 'up' ? up : undefined, monotonic: () => 0, listMs: 20 })
  return { breaker, other, prober }
}

const unreachable = async () => { throw new UpstreamError('network', 'no', 'connection refused') }

t.test('a provider that is unreachable twice in a row opens the breakers of its deployments only', async t => {
  const { breaker, other, prober } = start(unreachable)
  await prober.probe(signal)
  t.equal(breaker.state(0), 'ready')
  await prober.probe(signal)
  t.equal(breaker.state(0), 'open')
  t.equal(other.state(0), 'ready')
})

t.test('a reachable provider makes an open breaker half-open', async t => {
  const { breaker, prober } = start(async () => ['m'])
  breaker.trip(0)
  await prober.probe(signal)
  t.equal(breaker.state(0), 'ready')
})

t.test('only consecutive misses open a breaker', async t => {
  const answers = [unreachable, async () => ['m'], unreachable]
  const { breaker, prober } = start(async () => await answers.shift()?.() ?? [])
  for (let round = 0; round < 3; round++) await prober.probe(signal)
  t.equal(breaker.state(0), 'ready')
})

t.test('a provider that refuses is reachable', async t => {
  const { breaker, prober } = start(async () => { throw new UpstreamError('auth', 'no', 'invalid key') })
  for (let round = 0; round < 3; round++) await prober.probe(signal)
  t.equal(breaker.state(0), 'ready')
})

t.test('a provider without a list of models is not probed, and an aborted probe has no effect', async t => {
  const unlisted = start()
  await unlisted.prober.probe(signal)
  t.equal(unlisted.breaker.state(0), 'ready')
  const { breaker, prober } = start(unreachable)
  for (let round = 0; round < 3; round++) await prober.probe(AbortSignal.abort())
  t.equal(breaker.state(0), 'ready')
})

/** Makes a call that was given up. */
function giveUp ({ breaker }: ReturnType<typeof start>): void {
  const permit = breaker.acquire(0, 'key')
  if (permit === null) throw new Error('it let no call through')
  breaker.failed(permit, 0)
  breaker.silent(0, 0)
}

t.test('a silent provider is tried again once it answers a check that it did not answer before', async t => {
  const silences = { unreachable, hangs: (signal: AbortSignal) => aborted(signal) }
  for (const [name, silence] of Object.entries(silences)) {
    const answers = [silence, silence, async () => ['m']]
    const one = start(async signal => await answers.shift()?.(signal) ?? [])
    await one.prober.checkSilent(signal)
    t.equal(answers.length, 3, `${name}: only silent ones are checked`)
    giveUp(one)
    await one.prober.checkSilent(signal)
    await one.prober.checkSilent(signal)
    t.equal(one.breaker.state(0), 'paused', name)
    await one.prober.checkSilent(signal)
    t.equal(one.breaker.state(0), 'ready', name)
  }
})

t.test('a check that always succeeds says nothing about a model that is silent', async t => {
  const one = start(async () => ['m'])
  giveUp(one)
  for (let round = 0; round < 3; round++) await one.prober.checkSilent(signal)
  t.equal(one.breaker.state(0), 'paused')
})

/** Rejects as a call that was aborted. */
async function aborted (signal: AbortSignal): Promise<never> {
  // The time limit alone does not keep the process alive.
  const alive = setInterval(() => {}, 60_000)
  await new Promise(resolve => signal.addEventListener('abort', resolve))
  clearInterval(alive)
  throw new UpstreamError('aborted', 'maybe', 'It was aborted.')
}
