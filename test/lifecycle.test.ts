import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { rename, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { startGateway } from '../bin/gateway.ts'
import { readSettings } from '../services/config/settings/settings.ts'
import { openSqlite } from '../services/store/sqlite.ts'
import { addressOf, spawnGateway, temporaryFolder, type GatewayProcess } from './helpers/process.ts'
import { reply, scripts, startUpstream } from './servers/upstream.ts'
import { until } from './helpers/until.ts'

const run = promisify(execFile)

const ask = (url: string, key: string, body: object) => request(`${url}/chat/completions`, {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], ...body })
})

/** The port that the system assigned to a second address. */
async function secondPortOf (gateway: GatewayProcess): Promise<number> {
  const [, port] = await gateway.printed(/"port":(\d+),"msg":"a second address is served"/)
  return Number(port)
}

t.test('a first start prints a key and a command that works when pasted; a second start does not', async t => {
  const first = await spawnGateway(t)
  const { url, key } = await addressOf(first)
  t.match(key, /^sk-tg-[\w]+-[\w]+$/)
  const [command = ''] = await first.printed(/^curl .*$/m)
  const { stdout } = await run('sh', ['-c', `${command} --silent`])
  t.match(JSON.parse(stdout), { object: 'chat.completion', model: 'sandbox-chat' })
  await t.test('SIGTERM lets a stream end properly, refuses new connections and exits with 0', async t => {
    await endByStream(t, first, url, key)
  })

  const second = await spawnGateway(t, {}, { folder: first.folder })
  const again = await addressOf(second)
  t.equal(again.key, '')
  t.equal((await ask(again.url, key, { model: 'sandbox-chat' })).statusCode, 200, 'the first key still works')
  await t.test('every start has the address of the console, and how to get a key if the first one is lost', async t => {
    await getKeysAsTold(t, [first, second])
  })
  await t.test('a second signal ends the process at once', async t => {
    await endBySecondSignal(t, second, again.url, key)
  })
})

async function getKeysAsTold (t: Test, gateways: readonly GatewayProcess[]): Promise<void> {
  for (const gateway of gateways) {
    const { url } = await addressOf(gateway)
    t.match(gateway.output(), url.replace(/v1$/, 'console'))
    const made = [...gateway.output().matchAll(/npx tollgate( keys create.*)$/gm)].map(async ([, args = '']) => {
      const { stdout } = await run('sh', ['-c', join(import.meta.dirname, '../bin/tollgate.js') + args], { cwd: gateway.folder })
      return stdout.trim()
    })
    const { url: running } = await addressOf(gateways.at(-1) ?? gateway)
    const [user = '', owner = ''] = await Promise.all(made)
    t.equal((await ask(running, user, { model: 'sandbox-chat' })).statusCode, 200)
    const headers = { authorization: `Bearer ${owner}` }
    const { body } = await request(running.replace(/v1$/, 'admin/me'), { headers })
    t.match(await body.json(), { role: 'owner' })
  }
}

async function endByStream (t: Test, gateway: GatewayProcess, url: string, key: string): Promise<void> {
  const { body } = await ask(url, key, { model: 'sandbox-chat', stream: true })
  let text = ''
  for await (const piece of body) {
    if (text === '') {
      gateway.child.kill('SIGTERM')
      await gateway.printed(/"msg":"closing"/)
      while (await isAccepted(url));
    }
    text += piece
  }
  t.ok(text.endsWith('data: [DONE]\n\n'))
  t.equal(await gateway.exited, 0)
}

/** Whether a new connection is accepted; rejects if it fails in another way than by a refusal. */
async function isAccepted (url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return false
    throw error
  } finally {
    socket.destroy()
  }
}

async function endBySecondSignal (t: Test, gateway: GatewayProcess, url: string, key: string): Promise<void> {
  const waiting = ask(url, key, { model: 'sandbox-chat', messages: [{ role: 'user', content: 'sandbox:delay 60000' }] })
  await Promise.race([waiting, ask(url, key, { model: 'sandbox-chat' })])
  gateway.child.kill('SIGTERM')
  await gateway.printed(/"msg":"closing"/)
  gateway.child.kill('SIGTERM')
  t.equal(await gateway.exited, 1)
  await t.rejects(waiting)
}

t.test('a stream that outlasts the limit ends with an error event', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  upstream.always(scripts.stalledAfter(2))
  const env = { OPENAI_API_KEY: 'sk-up', OPENAI_BASE_URL: upstream.url, TOLLGATE_DRAIN_SECONDS: '0' }
  const gateway = await spawnGateway(t, env)
  const { url, key } = await addressOf(gateway)
  const { body } = await ask(url, key, { model: 'gpt-5-nano', stream: true })
  gateway.child.kill('SIGTERM')
  const text = await body.text()
  t.match(text, /data: \{"error":\{"message":"The gateway is shutting down\./)
  t.notMatch(text, '[DONE]')
  t.equal(await gateway.exited, 0)
})

t.test('a second address behaves like the first', async t => {
  const gateway = await spawnGateway(t, { ALT_PORT: '0' })
  const { url, key } = await addressOf(gateway)
  const alternative = `http://127.0.0.1:${await secondPortOf(gateway)}/v1`
  for (const [path, init] of [['/models', 'GET'], ['/embeddings', 'POST'], ['/chat/completions', 'DELETE']] as const) {
    const [one, two] = await Promise.all([url, alternative].map(async base => {
      const answer = await request(base + path, {
        method: init, headers: { authorization: `Bearer ${key}`, 'x-request-id': 'same' }
      })
      const { date, ...headers } = answer.headers
      return { status: answer.statusCode, headers, body: await answer.body.text() }
    }))
    t.strictSame(one, two)
  }
  await t.test('and loses neither a stream nor a connection that arrives while it closes', async t => {
    const visits = startVisits(await secondPortOf(gateway))
    await visits.enough
    const { body } = await ask(alternative, key, { model: 'sandbox-chat', stream: true })
    const reading = body.text()
    gateway.child.kill('SIGTERM')
    t.ok((await reading).endsWith('data: [DONE]\n\n'))
    const ends = await visits.ends
    t.same(ends.filter(end => !['ECONNREFUSED', 'ECONNRESET'].includes(end)), [])
    // The system resets what arrives between the last look and the close, at most the backlog and one more.
    t.ok(ends.filter(end => end === 'ECONNRESET').length <= 2, ends.join())
    t.equal(await gateway.exited, 0)
  })
  const store = await openSqlite(join(gateway.folder, 'data', 'tollgate.db'))
  t.teardown(() => store.close())
  t.match(await store.all("select spent > 0 as paid from account where id = 'default'"), [{ paid: 1 }])
})

/** Clients that connect until they fail: `enough` resolves after 200 answers, `ends` with their errors. */
function startVisits (port: number): { enough: Promise<void>, ends: Promise<string[]> } {
  const enough = Promise.withResolvers<void>()
  let answered = 0
  async function come (): Promise<string> {
    for (;;) {
      const socket = connect(port, '127.0.0.1')
      try {
        await once(socket, 'connect')
        socket.write('GET /healthz HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n')
        if (!(await text(socket)).startsWith('HTTP/1.1 200')) return 'no answer'
        if (++answered === 200) enough.resolve()
      } catch (error) {
        return error instanceof Error && 'code' in error ? String(error.code) : String(error)
      }
    }
  }
  return { enough: enough.promise, ends: Promise.all(Array.from({ length: 16 }, come)) }
}

t.test('a changed configuration applies without dropping a request; an invalid one is rejected', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const folder = await temporaryFolder(t)
  const path = join(folder, 'gateway.yaml')
  const config = (model: string) => `
providers:
  - { id: up, base_url: '${upstream.url}', api_key: sk-up }
models:
  - { id: ${model}, provider: up, model: gpt-5-nano, price: { input: 0, output: 0 } }
`
  await writeFile(path, config('first'))
  const gateway = await spawnGateway(t, {}, { folder })
  const { url, key } = await addressOf(gateway)
  const statusOf = async (model: string) => {
    const answer = await ask(url, key, { model })
    await answer.body.dump()
    return answer.statusCode
  }
  const opened = Promise.withResolvers<void>()
  upstream.script(scripts.heldUntil(opened.promise, reply()))
  const running = statusOf('first')
  await upstream.nextRequest()

  await writeFile(`${path}.new`, config('second').replace('sk-up', 'sk-other'))
  await rename(`${path}.new`, path)
  await gateway.printed(/"msg":"configuration reloaded"/)
  t.equal(await statusOf('second'), 200)
  t.equal(await statusOf('first'), 404)
  opened.resolve()
  t.equal(await running, 200, 'the request that was under way has not noticed')

  await writeFile(path, config('third').replace('model: gpt-5-nano', 'modle: gpt-5-nano'))
  const [problem] = await gateway.printed(/the configuration was not reloaded: [^"]*/)
  t.match(problem, /:5:/, 'the line is named')
  t.match(problem, /modle/)
  t.equal(await statusOf('second'), 200, 'the old one is still running')

  await writeFile(path, `${config('fourth')}requests: { deadline_ms: 7200000 }\n`)
  gateway.child.kill('SIGHUP')
  await gateway.printed(/configuration reloaded[^]*configuration reloaded/)
  t.equal(await statusOf('fourth'), 200)

  const store = await openSqlite(join(folder, 'data', 'tollgate.db'))
  t.teardown(() => store.close())
  const shownMs = async () => (await store.get<{ ms: number }>('select request_ms as ms from node'))?.ms ?? 0
  await until(async () => await shownMs() >= 7_200_000)
  t.pass('other nodes wait as long for the holds of this one')
})

t.test('an address in use stops the start with a message', async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const port = String((taken.address() as AddressInfo).port)
  const reason = `listen EADDRINUSE: address already in use 127.0.0.1:${port}`
  const folder = await temporaryFolder(t)
  const other = (variable: string): string => `${variable}=${Number(port) + 1} npm start`
  for (const workers of ['1', '2']) {
    const gateway = await spawnGateway(t, { PORT: port, TOLLGATE_WORKERS: workers }, { folder })
    t.equal(await gateway.exited, 1)
    t.match(gateway.output(), `Tollgate cannot start: ${reason}. Choose another port: ${other('PORT')}`)
    t.notMatch(gateway.output(), 'Tollgate serves')
  }
  const { exited, output } = await spawnGateway(t, { TOLLGATE_METRICS_PORT: port }, { folder })
  t.equal(await exited, 1)
  t.match(output(), other('TOLLGATE_METRICS_PORT'))
  const { key } = await addressOf(await spawnGateway(t, {}, { folder }))
  t.match(key, /^sk-tg-/, 'the first key is made by the start that shows it')
  for (const variable of ['ALT_PORT', 'TOLLGATE_METRICS_PORT']) {
    const env = { DATABASE_URL: 'sqlite::memory:', TOLLGATE_DISCOVER: 'off', LOG_LEVEL: 'silent', PORT: '0', [variable]: port }
    const started = startGateway(env, readSettings(env, await temporaryFolder(t)), { onBuilt () {} })
    await t.rejects(started, { message: reason }, variable)
  }
})

t.test('an invalid configuration stops the start with a message', async t => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'gateway.yaml'), 'models:\n  - { id: a, provider: nobody }\n  - { id: b, kind: cat }\n')
  const gateway = await spawnGateway(t, {}, { folder })
  t.equal(await gateway.exited, 1)
  t.match(gateway.output(), /:2:24 models\[0\].provider: is not a\s+known provider/)
  t.match(gateway.output(), /:3:/)
})
