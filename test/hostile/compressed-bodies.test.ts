import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { startMetered, type MeteredGateway } from './metered-gateway.ts'

const adminKey = 'operator-key-of-this-test'
const connections = 4
const bytesPerSecond = 22_000
/** Of one turn of the event loop; parsing one such body took 155 to 312 ms. */
const longestMs = 80
/** Noise of other processes. */
const slackMs = 700
const rounds = 5

/** Sends a short request every 25 ms; adds the times until the answers, in ms. */
async function addWaits (
  waits: number[], gateway: MeteredGateway, authorization: string, spanMs: number
): Promise<void> {
  const url = `${gateway.url}/v1/chat/completions`
  const headers = { ...gateway.headers, authorization }
  const body = JSON.stringify({ model: 'sandbox-chat', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] })
  const send = async (): Promise<void> => {
    const startedMs = performance.now()
    const answer = await fetch(url, { method: 'POST', headers, body })
    await answer.text()
    if (answer.status !== 200) throw new Error(`${answer.status}`)
    waits.push(performance.now() - startedMs)
  }
  const sending: Promise<void>[] = []
  const endMs = performance.now() + spanMs
  for (; performance.now() < endMs; await sleep(25)) sending.push(send())
  await Promise.all(sending)
}

function p99Of (waits: readonly number[]): number {
  return waits.toSorted((one, other) => one - other)[Math.floor(0.99 * waits.length)] ?? Infinity
}

/** Sends a compressed body over and over until it is stopped; resolves to the statuses. */
function attack ({ url, headers }: MeteredGateway, body: Buffer<ArrayBuffer>) {
  const statuses = new Set<number>()
  const stopping = new AbortController()
  const lanes = Array.from({ length: connections }, async () => {
    while (!stopping.signal.aborted) {
      const pause = sleep(1000 * connections * body.length / bytesPerSecond)
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST', headers: { ...headers, 'content-encoding': 'gzip' }, body
      })
      await answer.text()
      statuses.add(answer.status)
      await pause
    }
  })
  return async () => {
    stopping.abort()
    await Promise.all(lanes)
    return [...statuses]
  }
}

t.test('a key that sends 22 KB/s of gzip moves nobody else', async t => {
  const gateway = await startMetered(t, { env: { TOLLGATE_ADMIN_KEY: adminKey } })
  const made = await fetch(`${gateway.url}/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ account: 'default', label: 'other' })
  })
  const { key } = await made.json() as { key: string }
  const other = `Bearer ${key}`
  await addWaits([], gateway, other, 500)
  const bodyOf = (bytes: number) =>
    gzipSync(`{"model":"missing","messages":[{"role":"user","content":"${'a '.repeat(bytes / 2)}"}]}`)
  for (const [bytes, status] of [[30e6, 413], [1e6, 404]] as const) {
    const body = bodyOf(bytes)
    const quiet: number[] = []
    const attacked: number[] = []
    let longestTurnMs = 0
    // In turns, so that both meet the same noise.
    for (let round = 0; round < rounds; round++) {
      await addWaits(quiet, gateway, other, 600)
      const stop = attack(gateway, body)
      await gateway.read()
      await addWaits(attacked, gateway, other, 600)
      longestTurnMs = Math.max(longestTurnMs, (await gateway.read()).longestMs)
      t.same(await stop(), [status], `${bytes} bytes`)
    }
    t.ok(longestTurnMs < longestMs, `the longest turn had ${longestTurnMs} ms`)
    t.ok(p99Of(attacked) < 2 * p99Of(quiet) + slackMs,
      `99 % wait less than ${p99Of(quiet)} ms, and ${p99Of(attacked)} ms under attack`)
  }
})
