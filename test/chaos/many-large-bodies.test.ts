import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { startMetered, type MeteredGateway } from '../hostile/metered-gateway.ts'

const clients = 1_000
const bodyBytes = 30 * 1024 ** 2
/** What the deployments in `deploy/` allow a node. */
const maxRssBytes = 1024 ** 3
/** Of one turn of the event loop, which reads hundreds of sockets. One request alone takes 0.1 s at most. */
const longestMs = 1_000
/** A reset connection may overtake the answer that was sent on it. */
const maxReset = 0.1 * clients
const piece = Buffer.alloc(256 * 1024, 'a ')
const adminKey = 'operator-key-of-this-test'

interface Answer { status: number, retryAfter: string | undefined, problem: string }

/** Sends one body as fast as the gateway takes it, until it has answered. */
async function sendLarge ({ url, headers }: MeteredGateway): Promise<Answer> {
  // An image: text of that length would be refused, as no model reads it.
  const start = Buffer.from('{"model":"sandbox-chat","max_tokens":1,"messages":[{"role":"user","content":' +
    '[{"type":"image_url","image_url":{"url":"data:image/png;base64,')
  const end = Buffer.from('"}}]}]}')
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay()
  const answer = { text: '', problem: '' }
  const answered = Promise.withResolvers<void>()
  socket.on('error', ({ message }) => { answer.problem = message }).on('close', () => answered.resolve()).on('data', data => {
    answer.text += data
    if (answer.text.includes('\r\n\r\n')) answered.resolve()
  })
  await Promise.race([once(socket, 'connect'), answered.promise])
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n' +
    `Authorization: ${headers['authorization']}\r\nContent-Length: ${bodyBytes}\r\n\r\n`)
  socket.write(start)
  let left = bodyBytes - start.length - end.length
  while (left > 0 && answer.text === '' && !socket.destroyed) {
    const next = piece.subarray(0, Math.min(left, piece.length))
    left -= next.length
    if (!socket.write(next)) await Promise.race([once(socket, 'drain').catch(() => {}), answered.promise])
  }
  if (left === 0) socket.write(end)
  await answered.promise
  socket.destroy()
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer.text)?.[1] ?? 0),
    problem: answer.problem,
    retryAfter: /^retry-after: (\d+)/mi.exec(answer.text)?.[1]
  }
}

/** Sends requests of another key until it is stopped, and notes their statuses and the longest wait in ms. */
function sendSmall ({ url }: MeteredGateway, key: string) {
  const state = { statuses: new Map<number, number>(), longestMs: 0, failures: [] as string[], isOver: false }
  const body = JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const done = (async () => {
    while (!state.isOver) {
      const startedMs = performance.now()
      const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body }).catch(error => String(error.cause))
      if (typeof answer === 'string') { state.failures.push(answer); continue }
      await answer.text()
      state.longestMs = Math.max(state.longestMs, performance.now() - startedMs)
      state.statuses.set(answer.status, (state.statuses.get(answer.status) ?? 0) + 1)
    }
  })()
  return { state, stop: async () => { state.isOver = true; await done } }
}

t.test(`${clients} bodies of 30 MB at once do not end a node with a heap of 512 MB`, { timeout: 300_000 }, async t => {
  const gateway = await startMetered(t, { heapMb: 512, env: { TOLLGATE_ADMIN_KEY: adminKey } })
  const admin = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const made = await fetch(`${gateway.url}/admin/keys`, {
    method: 'POST', headers: admin, body: JSON.stringify({ account: 'default', label: 'other' })
  })
  const { key } = await made.json() as { key: string }
  t.equal(made.status, 201)
  await gateway.send('/v1/chat/completions', '{"model":"sandbox-chat","messages":[{"role":"user","content":"Hello"}]}')

  const other = sendSmall(gateway, key)
  await gateway.read(true)
  const startedMs = performance.now()
  const most = { rss: 0, pauseMs: 0 }
  const watch = setInterval(() => {
    gateway.read().then(({ memory, longestMs }) => {
      most.rss = Math.max(most.rss, memory.rss)
      most.pauseMs = Math.max(most.pauseMs, longestMs)
    }, () => {})
  }, 200)
  const answers = await Promise.all(Array.from({ length: clients }, async () => await sendLarge(gateway)))
  clearInterval(watch)
  await other.stop()

  const count = (status: number) => answers.filter(answer => answer.status === status).length
  t.comment(JSON.stringify({
    seconds: Math.round((performance.now() - startedMs) / 1000),
    answered: count(200),
    refused: count(503),
    closed: count(0),
    reasons: [...new Set(answers.map(({ problem }) => problem))].filter(reason => reason !== ''),
    rssMb: Math.round(most.rss / 1024 ** 2),
    pauseMs: Math.round(most.pauseMs),
    failures: other.state.failures.slice(0, 3),
    others: Object.fromEntries(other.state.statuses),
    othersLongestMs: Math.round(other.state.longestMs)
  }))
  t.equal(gateway.process.child.exitCode, null, gateway.process.output().slice(-2000))
  t.ok(count(0) <= maxReset, `${count(0)} without an answer`)
  t.equal(count(0) + count(200) + count(503), clients)
  t.ok(count(200) > 0 && count(503) > 0)
  t.ok(answers.filter(({ status }) => status === 503).every(({ retryAfter }) => Number(retryAfter) > 0), 'with retry-after')
  t.ok(most.rss < maxRssBytes, `${most.rss} bytes`)
  t.ok(most.pauseMs <= longestMs, `${most.pauseMs} ms`)
  t.same([...other.state.statuses.keys()], [200], 'the other key is served')
  t.same(other.state.failures, [])
})
