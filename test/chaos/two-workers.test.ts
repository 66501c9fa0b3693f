import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { Client } from 'undici'
import { createDatabase } from '../helpers/engines.ts'
import { addressOf, spawnGateway } from '../helpers/process.ts'
import {
  adminKey, ask, askAll, chat, childrenOf, isRunning, manyConnections, say, startNode, testTwoWorkers, until,
  type Node
} from '../helpers/worker-nodes.ts'

t.test('two workers (postgres)', async t => {
  await testTwoWorkers(t, await createDatabase(t, 'postgres'))
})

t.test('a node of two workers', async t => {
  const folder = t.testdir({ 'gateway.yaml': yaml('one') })
  const node = await startNode(t, { ALT_PORT: '0', TOLLGATE_METRICS_PORT: '0' }, { folder })
  await t.test('serves both addresses and the port of the metrics; a port that is taken ends the start', async t => {
    await serveAllPorts(t, node)
  })
  await t.test('passes a change of gateway.yaml and SIGHUP to all workers', async t => {
    await reload(t, node)
  })
  await t.test('replaces a worker that crashes or ends', async t => {
    await replaceWorkers(t, node)
  })
  await t.test('shows metrics and load while one worker hangs', async t => {
    await hang(t, node)
  })
  await t.test('has no worker that outlives it', async t => {
    const last = await childrenOf(node.gateway.child.pid)
    node.gateway.child.kill('SIGKILL')
    await until(async () => !(await Promise.all(last.map(isRunning))).includes(true), 'no orphan')
    const again = await spawnGateway(t, {}, { folder })
    const { url } = await addressOf(again)
    t.equal((await ask(new URL(url).origin, { path: chat, body: say('Hello'), key: node.key })).status, 200)
  })
})

const yaml = (model: string) => `
providers:
  - { id: sandbox, protocol: sandbox }
models:
${['sandbox-chat', model].map(id => `  - { id: ${id}, provider: sandbox, model: sandbox-chat, price: { input: 0, output: 0 } }`).join('\n')}
`

async function serveAllPorts (t: Test, { gateway, origin, key }: Node): Promise<void> {
  const [, second] = await gateway.printed(/"port":(\d+),"msg":"a second address is served"/)
  for (const { status } of await askAll(`http://127.0.0.1:${second}`, { path: chat, body: say('Hello'), key })) t.equal(status, 200)
  const [, port] = await gateway.printed(/"port":(\d+),"msg":"metrics are served"/)
  const metrics = async () => (await ask(`http://127.0.0.1:${port}`, { path: '/metrics', key: '' })).text
  await until(async () => /^tollgate_requests_total\{.*status="200"\} 16$/m.test(await metrics()), 'the counts of both workers')
  t.match(await metrics(), /^tollgate_ready 1$/m)
  const other = await spawnGateway(t, { TOLLGATE_WORKERS: '2', PORT: new URL(origin).port })
  t.equal(await other.exited, 1)
  t.match(other.output(), /EADDRINUSE/)
}

async function reload (t: Test, { gateway, origin, key }: Node): Promise<void> {
  const allHave = (model: string) => async () => {
    const answers = await askAll(origin, { path: '/v1/models', key })
    return answers.every(({ text }) => text.includes(`"${model}"`))
  }
  t.ok(await allHave('one')())
  await writeFile(join(gateway.folder, 'gateway.yaml'), yaml('two'))
  await until(allHave('two'), 'the second model')
  gateway.child.kill('SIGHUP')
  await until(async () => gateway.output().match(/configuration reloaded/g)?.length === 4, 'two reloads of both')
}

async function replaceWorkers (t: Test, { gateway, origin, key }: Node): Promise<void> {
  const showsTwo = async () => /^tollgate_workers 2$/m.test((await ask(origin, { path: '/metrics', key: adminKey })).text)
  const [first = 0, second = 0] = await childrenOf(gateway.child.pid)
  process.kill(first, 'SIGKILL')
  await gateway.printed(/"signal":"SIGKILL".*"msg":"a worker has crashed and is replaced"/)
  await until(showsTwo, 'two workers again')
  const metrics = await ask(origin, { path: '/metrics', key: adminKey })
  t.match(metrics.text, /^tollgate_worker_restarts_total 1$/m)
  for (const { status } of await askAll(origin, { path: chat, body: say('Hello'), key })) t.equal(status, 200)

  process.kill(second, 'SIGTERM')
  await gateway.printed(/"code":0.*"msg":"a worker has ended and is replaced"/)
  for (const { status } of await askAll(origin, { path: chat, body: say('Hello'), key })) t.equal(status, 200)
  await until(async () => (await childrenOf(gateway.child.pid)).length === 2, 'two workers once more')
  await until(showsTwo, 'both answer')
}

async function hang (t: Test, { gateway, origin }: Node): Promise<void> {
  const [hung = 0] = await childrenOf(gateway.child.pid)
  process.kill(hung, 'SIGSTOP')
  t.teardown(() => process.kill(hung, 'SIGCONT'))
  const statusOf = async (path: string): Promise<number> => {
    const client = new Client(origin)
    t.teardown(() => client.destroy())
    const answer = await client.request({ method: 'GET', path, headers: { authorization: `Bearer ${adminKey}` } })
    answer.body.on('error', () => {})
    return answer.statusCode
  }
  for (const path of ['/metrics', '/admin/live']) {
    t.equal(await Promise.any(Array.from({ length: manyConnections }, () => statusOf(path))), 200, path)
  }
}
