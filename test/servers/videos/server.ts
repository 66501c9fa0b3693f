import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Value } from '@sinclair/typebox/value'
import type { Answer, Job, JobState, Wire } from './wire.ts'

/** What the server does instead of answering; runs when the request has been read and recorded. */
export type Script = (response: ServerResponse, request: Received) => void | Promise<void>

export interface Received {
  kind: Kind
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
}

export type Kind = 'submit' | 'poll' | 'result' | 'cancel' | 'content' | 'list' | 'unknown'

export interface VideoServer {
  /** The base URL of the API. */
  readonly url: string
  readonly requests: readonly Received[]
  /** The jobs that were begun, oldest first. */
  readonly jobs: readonly Job[]
  /** What was wrong with requests; a test ends with none. */
  readonly faults: readonly string[]
  /** The bytes of every video. */
  readonly video: Buffer
  /** Queues a script for the next request of this kind. */
  script (kind: Kind, script: Script): void
  /** The state of all jobs from now on. */
  set (state: JobState): void
  close (): Promise<void>
}

interface Options {
  /** Answers requests that the wire format does not know, e.g. a list. */
  extra?: (received: Received, server: VideoServer) => Answer | null
  /** Takes the place of the wire's own way to begin a job. */
  begin?: (body: Received['body'], server: VideoServer) => Answer | null
}

/** Starts a server on a free port of 127.0.0.1 that speaks one provider's wire format, and strictly so. */
export async function startVideoServer (wire: Wire, { extra, begin }: Options = {}): Promise<VideoServer> {
  const requests: Received[] = []
  const jobs: Job[] = []
  const faults: string[] = []
  const scripts = new Map<Kind, Script[]>()
  const sockets = new Set<Socket>()
  const video = Buffer.alloc(300_000, 'video')
  let state: JobState | null = null

  function kindOf (method: string, path: string): Kind {
    if (method === 'POST' && wire.submit.path.test(path)) return 'submit'
    if (method === wire.cancel?.method && wire.cancel.path.test(path)) return 'cancel'
    if (method !== 'GET') return 'unknown'
    if (wire.content?.test(path)) return 'content'
    if (wire.poll.test(path)) return 'poll'
    if (wire.result?.path.test(path)) return 'result'
    return /^\/predictions(\?|$)/.test(path) ? 'list' : 'unknown'
  }

  function submit (received: Received): Answer {
    const expected = { 'content-type': 'application/json', ...wire.submitHeaders }
    for (const [name, value] of Object.entries(expected)) {
      if (received.headers[name] !== value) faults.push(`${name}: ${received.headers[name]}`)
    }
    const [error] = Value.Errors(wire.submit.schema, received.body)
    if (error !== undefined) {
      faults.push(`${error.path}: ${error.message}`)
      return wire.refused('invalid', `${error.path} is wrong`)
    }
    const began = begin?.(received.body, server) ?? null
    if (began !== null) return began
    const job: Job = {
      id: `job-${jobs.length + 1}`, state: wire.states[0] ?? 'running', body: received.body, path: received.path, createdAt: Date.now()
    }
    jobs.push(job)
    return wire.accepted(job)
  }

  function answerTo (received: Received): Answer | Buffer {
    const { kind, path } = received
    if (!wire.isAuthorized(received.headers)) {
      faults.push(`${kind} without the key`)
      return wire.refused('auth', 'Wrong key.')
    }
    if (kind === 'submit') return submit(received)
    const { poll, result, cancel, content } = wire
    const patterns: Partial<Record<Kind, RegExp | undefined>> = {
      poll, result: result?.path, cancel: cancel?.path, content
    }
    const id = patterns[kind]?.exec(path)?.[1]
    const job = jobs.find(job => job.id === id)
    if (job === undefined) return extra?.(received, server) ?? wire.refused('unknown', `No ${received.method} ${path}`)
    const now = { ...job, state: state ?? job.state }
    const address = `http://${received.headers.host}/files/${id}.mp4`
    switch (kind) {
      case 'cancel':
        if (now.state === 'queued' || now.state === 'running') state = 'cancelled'
        return wire.cancel?.answer ?? {}
      case 'content': return video
      case 'result': return wire.result?.answer(now, address) ?? {}
      default: return wire.told(now, address)
    }
  }

  async function serve (incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = incoming
    const bytes = await incoming.toArray().then(Buffer.concat)
    if (url.startsWith('/files/')) {
      if (headers.authorization !== undefined) faults.push('the key went to a public address')
      response.end(video)
      return
    }
    if (!url.startsWith(`${wire.base}/`)) faults.push(`path ${url}`)
    const path = url.slice(wire.base.length)
    const body = bytes.length === 0 ? {} : JSON.parse(bytes.toString())
    const received = { kind: kindOf(method, path), method, path, headers, body }
    requests.push(received)
    const script = scripts.get(received.kind)?.shift()
    if (script !== undefined) return await script(response, received)
    const answer = answerTo(received)
    if (Buffer.isBuffer(answer)) response.writeHead(200, { 'content-type': 'video/mp4' }).end(answer)
    else reply(answer)(response, received)
  }

  const http = createServer((incoming, response) => {
    serve(incoming, response).catch(error => {
      faults.push(String(error))
      incoming.socket.destroy()
    })
  })
  http.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const server: VideoServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}${wire.base}`,
    requests,
    jobs,
    faults,
    video,
    script: (kind, script) => { scripts.set(kind, [...scripts.get(kind) ?? [], script]) },
    set: next => { state = next },
    async close () {
      const closed = once(http, 'close')
      http.close()
      for (const socket of sockets) socket.destroy()
      await closed
    }
  }
  return server
}

/** Answers so, as JSON; without a body where there is none. */
export function reply ({ status = 200, body, headers = {} }: Answer): Script {
  return response => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    response.writeHead(status, { ...type, ...headers })
    response.end(body === undefined ? undefined : JSON.stringify(body))
  }
}

/** Answers with a text as it stands. */
export function say (status: number, text: string, headers: Record<string, string> = {}): Script {
  return response => { response.writeHead(status, headers).end(text) }
}

/** What a proxy in front of a provider says. */
export const html = (status: number): Script =>
  say(status, `<html><body><h1>${status} Bad Gateway</h1></body></html>`, { 'content-type': 'text/html' })

/** Resets the connection. */
export const reset: Script = response => { response.socket?.resetAndDestroy() }

/** Says nothing until the client leaves. */
export const stall: Script = async response => { await once(response, 'close') }

/** Promises more than it sends. */
export const cutShort: Script = response => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('{"id":"job-1",')
  setImmediate(() => response.socket?.resetAndDestroy())
}

/** Sends a body in pieces, so many ms apart. */
export function slowly (bytes: Buffer, pieces: number, pauseMs: number): Script {
  return async response => {
    response.writeHead(200, { 'content-type': 'video/mp4' })
    const size = Math.ceil(bytes.length / pieces)
    for (let at = 0; at < bytes.length && !response.destroyed; at += size) {
      response.write(bytes.subarray(at, at + size))
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
    response.end()
  }
}
