import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { keepOpen } from '../helpers/keep-open.ts'

/** One job of the provider. */
export interface ProviderJob {
  id: string
  /** The key of a client that has one. */
  key: string | null
  prompt: string
  /** How often it was asked for by a submit. */
  submits: number
  doneAt: number
}

/** A provider of videos on this machine; it makes each as fast as its prompt says, `takes <ms>`. */
export interface VideoProvider extends AsyncDisposable {
  /** The base URL of its API. */
  readonly url: string
  readonly jobs: readonly ProviderJob[]
  /** Called before an answer; while it has not resolved, the client waits. */
  before: ((step: Step, job: ProviderJob) => Promise<void> | undefined) | null
}

export type Step = 'submit' | 'poll' | 'download'

const video = readFileSync(join(import.meta.dirname, '../fixtures/videos/two-seconds.mp4'))

/**
 * Starts a server that speaks two wire formats: OpenAI's `/videos`, where a submit that is repeated is
 * another video, and Kling's, where the client's key makes it the same one, as in their own documentation.
 */
export async function startVideoProvider (): Promise<VideoProvider> {
  const jobs: ProviderJob[] = []

  function begin (prompt: string, key: string | null): ProviderJob {
    const takesMs = Number(/takes (\d+)/.exec(prompt)?.[1] ?? 0)
    const job = { id: `v${jobs.length + 1}`, key, prompt, submits: 1, doneAt: Date.now() + takesMs }
    jobs.push(job)
    return job
  }

  async function serve (incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = incoming
    const text = Buffer.concat(await incoming.toArray()).toString()
    const body: Record<string, string> = text === '' ? {} : JSON.parse(text)
    const isKling = url.includes('/text2video') || url.includes('/image2video')
    if (method === 'POST') {
      const known = jobs.find(({ key }) => isKling && key === body.external_task_id)
      if (known !== undefined) {
        known.submits++
        return json(response, 400, { code: 1200, message: 'external_task_id is used' })
      }
      const job = begin(body.prompt ?? '', isKling ? body.external_task_id ?? null : null)
      await provider.before?.('submit', job)
      return json(response, 200, isKling ? klingAnswer(job) : openaiAnswer(job))
    }
    const [, id = '', content] = /\/(?:videos|text2video|image2video|files)\/([^/.]+)(\/content|\.mp4)?$/.exec(url) ?? []
    const job = jobs.find(job => job.id === id || job.key === id)
    if (job === undefined) return json(response, 404, isKling ? { code: 1203, message: 'no such task' } : { error: { message: 'none' } })
    await provider.before?.(content === undefined ? 'poll' : 'download', job)
    if (content === undefined) return json(response, 200, isKling ? klingAnswer(job) : openaiAnswer(job))
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': video.length }).end(video)
  }

  function klingAnswer (job: ProviderJob): object {
    const url = `${provider.url.replace(/\/v1$/, '')}/files/${job.id}.mp4`
    const made = Date.now() < job.doneAt
      ? { task_status: 'processing' }
      : { task_status: 'succeed', task_result: { videos: [{ id: job.id, url, duration: '2' }] } }
    return { code: 0, message: 'SUCCEED', request_id: 'r', data: { task_id: job.id, ...made } }
  }

  const server = createServer(keepOpen, (incoming, response) => {
    serve(incoming, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const provider: VideoProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    jobs,
    before: null,
    async [Symbol.asyncDispose] () {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
  return provider
}

function openaiAnswer ({ id, doneAt }: ProviderJob): object {
  const status = Date.now() < doneAt ? 'in_progress' : 'completed'
  return { id, object: 'video', status, progress: status === 'completed' ? 100 : 10, seconds: '2', error: null }
}

function json (response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
