import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Random } from '../services/billing/ledger/random.ts'
import { chunks, events, type Script } from '../servers/upstream.ts'

/** A client's stream. `node` serves it; null until that is known. */
export interface Stream {
  /** When it was requested, on the clock of `performance.now`. */
  requestedMs: number
  node: string | null
  failure: string | null
}

export function newStream (): Stream {
  return { requestedMs: performance.now(), node: null, failure: null }
}

/** Clients that each request one stream after the other. */
export interface Load {
  /** The streams that have ended since the last call, completed or not. */
  take (): Stream[]
  /** Running streams of a node, including those whose node is not known yet. */
  openAt (node: string): number
  readonly open: number
  /** Waits for the running streams to end. */
  stop (): Promise<void>
}

const client = new Agent({ connections: 512 })

/** A provider that writes a word every 100 to 300 ms. */
export function pacedBy (random: Random): Script {
  return async ({ request, response }) => {
    const everyMs = random.integer(100, 300)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events(chunks(request))) {
      if (response.destroyed) return
      response.write(event)
      await pause(everyMs)
    }
    response.end()
  }
}

/** Requests one stream and reads it to its end. */
export async function ask (url: string, key: string, stream: Stream): Promise<number> {
  try {
    const answer = await request(`${url}/chat/completions`, {
      dispatcher: client,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5-nano', stream: true, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] })
    })
    // nginx names all nodes it tried; the last one answered.
    stream.node = String(answer.headers['x-node']).split(', ').at(-1) ?? null
    const text = await answer.body.text()
    if (answer.statusCode !== 200) stream.failure = `${answer.statusCode} ${text.slice(0, 200)}`
    else if (!text.endsWith('data: [DONE]\n\n')) stream.failure = `broken off: ${text.slice(-100)}`
    return answer.statusCode
  } catch (error) {
    stream.failure = String(error)
    return 0
  }
}

export function startLoad (url: string, key: string, clients: number): Load {
  const open = new Set<Stream>()
  let ended: Stream[] = []
  const stopped = new AbortController()
  async function askOn (): Promise<void> {
    while (!stopped.signal.aborted) {
      const stream = newStream()
      open.add(stream)
      await ask(url, key, stream)
      open.delete(stream)
      ended.push(stream)
      // Without a pause, a client that is refused at once would loop.
      if (stream.failure !== null) await pause(100)
    }
  }
  const working = Array.from({ length: clients }, askOn)
  return {
    take () {
      const taken = ended
      ended = []
      return taken
    },
    openAt: node => [...open].filter(stream => stream.node === node || stream.node === null).length,
    get open () { return open.size },
    async stop () {
      stopped.abort()
      await Promise.all(working)
    }
  }
}
