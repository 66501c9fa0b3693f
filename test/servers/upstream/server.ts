import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { keepOpen } from '../../helpers/keep-open.ts'
import { play, receive, type Script, type UpstreamRequest } from './exchange.ts'
import { modelList, refusal, reply } from './replies.ts'

/** A local server that answers like api.openai.com unless a script changes that. */
export interface Upstream {
  /** Base URL for a client, e.g. `http://127.0.0.1:41234/v1`. */
  readonly url: string
  /** Every request so far whose body was read or given up, oldest first. */
  readonly requests: UpstreamRequest[]
  /** Connections that are open now. */
  readonly connections: number
  /** The first request that no earlier call has returned, waiting for it if need be. */
  nextRequest (): Promise<UpstreamRequest>
  /** Queues one script per coming POST. */
  script (...scripts: Script[]): void
  /** Answers each POST that finds no queued script, from now on. */
  always (script: Script): void
  /** Answers each `GET /v1/models`, from now on. */
  models (script: Script): void
  /** Ends all connections; throws an AggregateError when a script has failed. */
  close (): Promise<void>
}

export interface UpstreamOptions {
  /** If set, requests with another bearer key get 401. */
  apiKey?: string
  /** For another protocol: chooses the script of every request; `queued` takes the next from the queue. */
  route?: (request: UpstreamRequest, queued: () => Script | undefined) => Script
}

/** Starts an upstream on a free port of 127.0.0.1. */
export async function startUpstream ({ apiKey, route }: UpstreamOptions = {}): Promise<Upstream> {
  const requests: UpstreamRequest[] = []
  const sockets = new Set<Socket>()
  const queue: Script[] = []
  const failures: unknown[] = []
  const arrivals = new EventEmitter()
  const closing = new AbortController()
  const standing = { post: reply(), models: modelList(['gpt-5-nano', 'gpt-5-mini', 'babbage-002']) }
  let arrived = 0
  let handedOut = 0

  function choose (request: UpstreamRequest): Script {
    const { method, path, headers } = request
    if (route !== undefined) return route(request, () => queue.shift())
    if (apiKey !== undefined && headers.authorization !== `Bearer ${apiKey}`) return refusal(401)
    const { pathname } = new URL(path, 'http://upstream')
    if (method === 'POST' && pathname.endsWith('/completions')) return queue.shift() ?? standing.post
    if (method === 'GET' && pathname.endsWith('/models')) return standing.models
    return refusal(404, { message: `Invalid URL (${method} ${path})`, code: null })
  }

  const server = createServer(keepOpen, async (incoming, response) => {
    try {
      const exchange = await receive(incoming, response, arrived++)
      requests.push(exchange.request)
      arrivals.emit('request')
      if (!response.destroyed) await play(choose(exchange.request), exchange)
    } catch (error) {
      failures.push(error)
      incoming.socket.destroy()
    }
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    get connections () { return sockets.size },
    async nextRequest () {
      const index = handedOut++
      while (requests.length <= index) await once(arrivals, 'request', { signal: closing.signal })
      return requests[index]!
    },
    script: (...scripts) => { queue.push(...scripts) },
    always: (script) => { standing.post = script },
    models: (script) => { standing.models = script },
    async close () {
      closing.abort()
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
      if (failures.length > 0) throw new AggregateError(failures, 'upstream scripts failed')
    }
  }
}
