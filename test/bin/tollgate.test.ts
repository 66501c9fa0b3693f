import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { createDatabase } from '../helpers/engines.ts'
import { addressOf, spawnGateway, temporaryFolder, usual, withoutHooks } from '../helpers/process.ts'
import { oldNodes } from './old-nodes.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'tollgate.js')

interface Run { args: string[], cwd: string, env?: Record<string, string>, node?: string[], path?: string }

function start (
  t: Test, { args, cwd, env = {}, node = [], path = program }: Run
): ChildProcessByStdio<null, Readable, Readable> {
  const child = spawn(...withoutHooks(process.execPath, ...node, path, ...args), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGTERM'))
  return child
}

async function run (t: Test, options: Run): Promise<{ code: number, out: string, err: string }> {
  const child = start(t, options)
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, out, err }
}

const serving = { ...usual, TOLLGATE_DRAIN_SECONDS: '1' }

/** The URL that a gateway prints once it listens. */
async function addressServed (child: ChildProcessByStdio<null, Readable, Readable>): Promise<string> {
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => { printed += chunk })
  for (;;) {
    const [, url] = /Tollgate serves (http\S+)\n/.exec(printed) ?? []
    if (url !== undefined) return url
    await once(child.stdout, 'data')
  }
}

async function statusOf (url: string): Promise<number> {
  const answer = await fetch(`${url}/models`)
  await answer.text()
  return answer.status
}

t.test('the program runs through a link', async t => {
  const cwd = await temporaryFolder(t)
  const link = join(cwd, 'tollgate')
  await symlink(program, link)
  const { code, out, err } = await run(t, { path: link, cwd, args: ['--help'] })
  t.same([code, err], [0, ''])
  t.match(out, /^Usage: tollgate/)
})

t.test('under an old Node the output, the errors and the exit code are the same', async t => {
  const cwd = await temporaryFolder(t)
  for (const node of oldNodes) {
    const { code, out, err } = await run(t, { cwd, node, args: ['nonsense'] })
    t.same([code, out], [2, ''])
    t.match(err, /^tollgate: unknown command 'nonsense'/)
  }
})

t.test('a signal ends serve, also under an old Node', async t => {
  for (const node of [[], ...oldNodes]) {
    const child = start(t, { cwd: await temporaryFolder(t), node, env: serving, args: ['serve'] })
    const url = await addressServed(child)
    t.equal(await statusOf(url), 401)
    child.kill('SIGTERM')
    t.same(await once(child, 'exit'), [0, null])
    await t.rejects(statusOf(url), 'the gateway has stopped listening')
  }
})

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`commands work while the gateway runs (${engine})`, async t => {
    const { url: DATABASE_URL } = await createDatabase(t, engine)
    const gateway = await spawnGateway(t, { DATABASE_URL })
    const { url, key } = await addressOf(gateway)
    const cwd = gateway.folder
    const tollgate = async (...args: string[]) => await run(t, { cwd, env: { DATABASE_URL }, args })
    const get = async (path: string, bearer = key) =>
      await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${bearer}` } })

    t.match(await (await get('/dashboard/billing')).json(), { balance: 10 })
    t.match(await tollgate('credits', 'add', 'default', '2.5'), { code: 0, err: '' })
    t.match(await (await get('/dashboard/billing')).json(), { balance: 12.5 })

    const { out } = await tollgate('keys', 'create', '--label', 'another')
    const created = out.trim()
    t.equal((await get('/models', created)).status, 200)
    t.match(await tollgate('keys', 'revoke', created.split('-')[2] ?? ''), { code: 0 })
    let status = 200
    for (; status === 200; status = (await get('/models', created)).status) await sleep(20)
    t.equal(status, 401)
    t.match(await tollgate('ledger', 'check'), { code: 0, out: 'The books add up.\n' })
  })
}
