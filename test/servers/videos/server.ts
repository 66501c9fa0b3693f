import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Value } from '@sinclair/typebox/value'
import type { FakeResponse, Job, JobState, FakeVideoApi } from './fake-api.ts'
import { keepOpen } from '../../helpers/keep-open.ts'

/** Replaces the response to one request, after it was recorded. */
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
  /** The submitted jobs, oldest first. */
  readonly jobs: readonly Job[]
  /** Invalid requests; a test must end with none. */
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
  /** Responds to requests that the fake API does not handle, e.g. a list. */
  extra?: (received: Received, server: VideoServer) => FakeResponse | null
  /** Overrides the response to a submit. */
  begin?: (body: Received['body'], server: VideoServer) => FakeResponse | null
  /** The bytes of every video; default: no real video. */
  video?: Buffer
}

/**
 * Starts a server on a free port of 127.0.0.1 that speaks a provider's API and validates requests strictly.
 */
export async function startVideoServer (
  api: FakeVideoApi, { extra, begin, video = Buffer.alloc(300_000, 'video') }: Options = {}
): Promise<VideoServer> {
  const requests: Received[] = []
  const jobs: Job[] = []
  const faults: string[] = []
  const scripts = new Map<Kind, Script[]>()
  const sockets = new Set<Socket>()
  let state: JobState | null = null

  function kindOf (method: string, path: string): Kind {
    if (method === 'POST' && api.submit.path.test(path)) return 'submit'
    if (method === api.cancel?.method && api.cancel.path.test(path)) return 'cancel'
    if (method === 'POST' && api.polledBy === 'POST') return 'poll'
    if (method !== 'GET') return 'unknown'
    if (api.content?.test(path)) return 'content'
    if (api.poll.test(path)) return 'poll'
    if (api.result?.path.test(path)) return 'result'
    return /^\/predictions(\?|$)/.test(path) ? 'list' : 'unknown'
  }

  function submit (received: Received): FakeResponse {
    const expected = { 'content-type': 'application/json', ...api.submitHeaders }
    for (const [name, value] of Object.entries(expected)) {
      if (received.headers[name] !== value) faults.push(`${name}: ${received.headers[name]}`)
    }
    const [error] = Value.Errors(api.submit.schema, received.body)
    if (error !== undefined) {
      faults.push(`${error.path}: ${error.message}`)
      return api.errorResponse('invalid', `${error.path} is wrong`)
    }
    const overridden = begin?.(received.body, server) ?? null
    if (overridden !== null) return overridden
    const job: Job = {
      id: `job-${jobs.length + 1}`, state: api.states[0] ?? 'running', body: received.body, path: received.path, createdAt: Date.now()
    }
    jobs.push(job)
    return api.submitResponse(job)
  }

  function responseTo (received: Received): FakeResponse | Buffer {
    const { kind, path } = received
    if (!api.isAuthorized(received.headers)) {
      faults.push(`${kind} without the key`)
      return api.errorResponse('auth', 'Wrong key.')
    }
    if (kind === 'submit') return submit(received)
    const { poll, result, cancel, content } = api
    const patterns: Partial<Record<Kind, RegExp | undefined>> = {
      poll, result: result?.path, cancel: cancel?.path, content
    }
    const place = kind === 'poll' && api.polledBy === 'POST' ? path + JSON.stringify(received.body) : path
    const id = patterns[kind]?.exec(place)?.[1]
    const job = jobs.find(job => job.id === id)
    if (job === undefined) return extra?.(received, server) ?? api.errorResponse('unknown', `No ${received.method} ${path}`)
    const now = { ...job, state: state ?? job.state }
    const url = `http://${received.headers.host}/files/${id}.mp4`
    switch (kind) {
      case 'cancel':
        if (now.state === 'queued' || now.state === 'running') state = 'cancelled'
        return api.cancel?.answer ?? {}
      case 'content': return video
      case 'result': return api.result?.answer(now, url) ?? {}
      default: return api.pollResponse(now, url)
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
    const isMoved = api.movedTo !== undefined && url.startsWith(api.movedTo)
    const base = isMoved ? `${api.movedTo}${api.base}` : api.base
    if (!url.startsWith(`${base}/`)) faults.push(`path ${url}`)
    const path = url.slice(base.length)
    const body = bytes.length === 0 ? {} : JSON.parse(bytes.toString())
    const received = { kind: kindOf(method, path), method, path, headers, body }
    requests.push(received)
    const script = scripts.get(received.kind)?.shift()
    if (script !== undefined) return await script(response, received)
    if (received.kind === 'content' && api.movedTo !== undefined && !isMoved && api.isAuthorized(headers)) {
      const location = `${api.origin ?? `http://${headers.host}`}${api.movedTo}${url}`
      response.writeHead(302, { location }).end()
      return
    }
    const answer = responseTo(received)
    if (Buffer.isBuffer(answer)) response.writeHead(200, { 'content-type': 'video/mp4' }).end(answer)
    else reply(answer)(response, received)
  }

  const http = createServer(keepOpen, (incoming, response) => {
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
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}${api.base}`,
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

/** Responds with JSON, or with an empty body. */
export function reply ({ status = 200, body, headers = {} }: FakeResponse): Script {
  return response => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    response.writeHead(status, { ...type, ...headers })
    response.end(body === undefined ? undefined : JSON.stringify(body))
  }
}

/** Responds with a text. */
export function replyText (status: number, text: string, headers: Record<string, string> = {}): Script {
  return response => { response.writeHead(status, headers).end(text) }
}

/** Responds like a proxy in front of a provider. */
export const html = (status: number): Script =>
  replyText(status, `<html><body><h1>${status} Bad Gateway</h1></body></html>`, { 'content-type': 'text/html' })

/** Resets the connection. */
export const reset: Script = response => { response.socket?.resetAndDestroy() }

/** Never responds. */
export const stall: Script = async response => { await once(response, 'close') }

/** Sends less than its content length. */
export const replyTruncated: Script = response => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('{"id":"job-1",')
  setImmediate(() => response.socket?.resetAndDestroy())
}

/** Sends a body in pieces with pauses. */
export function replySlowly (bytes: Buffer, pieces: number, pauseMs: number): Script {
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
