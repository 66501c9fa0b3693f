import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { chunksPerStream } from './answers.ts'
import { requests } from './requests.ts'
import type { RequestName } from './requests.ts'

// The client of the benchmark, in its own process; each IPC message is an order to run.

/** The load to put on one server. */
export interface LoadOrder {
  /** Base URL of the server, ending in `/v1`. */
  url: string
  key: string
  /** More headers of each request. */
  headers?: Record<string, string>
  request: RequestName
  count: number
  /** Requests in flight; with `perSecond`, the maximum. */
  concurrency: number
  /** Delay between the starts of concurrent requests, so that paced streams do not run in lockstep. */
  staggerMs?: number
  /** Rate of an open loop. Absent: a closed loop, in which each answer is followed by the next request. */
  perSecond?: number
}

/** The median latency, and the first wrong answer, if any, in `failure`. */
export interface LoadResult { p50Ms: number, failure: string | null }

process.on('message', async (order: LoadOrder) => {
  process.send?.(await runOrder(order))
})

async function runOrder (order: LoadOrder): Promise<LoadResult> {
  const pool = new Pool(new URL(order.url).origin, { connections: order.concurrency })
  const latenciesMs: number[] = []
  async function one () {
    const startedAt = performance.now()
    await sendRequest(pool, order)
    latenciesMs.push(performance.now() - startedAt)
  }
  try {
    await (order.perSecond === undefined ? closedLoop(order, one) : openLoop(order, order.perSecond, one))
    return { p50Ms: latenciesMs.sort((a, b) => a - b)[latenciesMs.length >> 1] ?? NaN, failure: null }
  } catch (error) {
    return { p50Ms: NaN, failure: error instanceof Error ? error.message : String(error) }
  } finally {
    await pool.destroy()
  }
}

async function closedLoop ({ count, concurrency, staggerMs = 0 }: LoadOrder, one: () => Promise<void>) {
  let left = count
  await Promise.all(Array.from({ length: concurrency }, async (_, index) => {
    await pause(index * staggerMs)
    while (left-- > 0) await one()
  }))
}

async function openLoop ({ count }: LoadOrder, perSecond: number, one: () => Promise<void>) {
  const running: Promise<void>[] = []
  const startedAt = performance.now()
  while (running.length < count) {
    const dueMs = startedAt + running.length * 1000 / perSecond - performance.now()
    if (dueMs > 0) await pause(dueMs)
    running.push(one())
  }
  await Promise.all(running)
}

/**
 * Sends one request and reads its answer. Throws an Error if it is not the complete answer of the provider.
 */
async function sendRequest (pool: Pool, { url, key, request, headers: more }: LoadOrder): Promise<void> {
  const { body: sent, isStream } = requests[request]
  const path = `${new URL(url).pathname}/chat/completions`
  const headers = { ...more, 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const { statusCode, body } = await pool.request({ method: 'POST', path, headers, body: sent })
  const text = await body.text()
  const isComplete = isStream
    ? text.endsWith('data: [DONE]\n\n') && text.split('\n\n').length > chunksPerStream
    : text.includes('"chat.completion"') && text.endsWith('}')
  if (statusCode !== 200 || !isComplete) throw new Error(`${path} answered ${statusCode}: ${text.slice(0, 500)}`)
}
