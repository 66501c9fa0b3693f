import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { createDatabase } from './helpers/engines.ts'
import { spawnGateway } from './helpers/process.ts'
import { testTwoWorkers, until } from './helpers/worker-nodes.ts'

t.test('two workers (sqlite)', async t => {
  await testTwoWorkers(t, await createDatabase(t, 'sqlite'))
})

t.test('a worker whose parent ends before it has begun does not start', async t => {
  const folder = t.testdir({ 'preload.js': "await new Promise(resolve => process.once('disconnect', resolve))" })
  const worker = fork(join(import.meta.dirname, '../bin/worker.ts'), ['0', '0'], {
    cwd: folder, env: { TOLLGATE_DISCOVER: 'off' }, execArgv: ['--import', join(folder, 'preload.js')], silent: true
  })
  t.teardown(() => worker.kill('SIGKILL'))
  let output = ''
  worker.stdout?.on('data', text => { output += text })
  const ended = once(worker, 'exit')
  worker.disconnect()
  await until(async () => output !== '' || worker.exitCode !== null, 'it serves or has ended')
  t.equal(output, '', 'nobody would end it')
  t.same(await ended, [0, null])
})

t.test('a start that fails is reported once', async t => {
  const gateway = await spawnGateway(t, { TOLLGATE_WORKERS: '2', TOLLGATE_CONFIG: 'absent.yaml' })
  t.equal(await gateway.exited, 1)
  t.equal(gateway.output().match(/Tollgate cannot start/g)?.length, 1)
})
