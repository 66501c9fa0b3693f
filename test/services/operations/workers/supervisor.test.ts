import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { createMetricsSum } from '../../../../services/operations/observability/metrics/sum.ts'
import { createSupervisor } from '../../../../services/operations/workers/supervisor.ts'

const worker = `
process.on('message', () => process.exit())
process.on('disconnect', () => process.exit())
process.send({ type: 'note', name: 'ready', value: { port: 1, secondPort: 0, banner: '' } })
`

t.test('a worker for which the system has no memory is started later; the node goes on', async t => {
  const program = join(t.testdir({ 'worker.cjs': worker }), 'worker.cjs')
  const children: ChildProcess[] = []
  const errors: string[] = []
  const third = Promise.withResolvers<void>()
  let starts = 0
  const error = (_details: object, message: string) => { errors.push(message) }
  const log = { info () {}, warn () {}, error }
  const supervisor = createSupervisor({
    count: 1,
    ports: { port: 0, secondPort: 0 },
    start () {
      if (++starts === 2) throw new Error('spawn ENOMEM')
      const child = fork(program, { execArgv: [], env: {} })
      children.push(child)
      if (starts === 3) child.once('message', () => setImmediate(third.resolve))
      return child
    },
    log,
    metrics: createMetricsSum()
  })
  t.teardown(() => supervisor.kill())
  await supervisor.start()
  children[0]?.kill('SIGKILL')
  await third.promise
  t.equal(supervisor.running, 1)
  t.same(errors, ['a worker has crashed and is replaced', 'a worker could not be started'])
  const [last] = children.slice(-1)
  supervisor.leave('SIGTERM')
  if (last !== undefined) await once(last, 'exit')
  t.equal(await supervisor.ended, 0)
})
