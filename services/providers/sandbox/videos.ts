import { UpstreamError } from '../../shared/errors.ts'
import { isObject } from '../../shared/json.ts'
import type { VideoProvider, VideoSize, VideoState } from '../provider-video.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import { readDirective, type Directive } from './directives.ts'
import { readFilm } from './film.ts'

/** The complete state of a job; it is the handle, so that jobs survive a restart. */
interface SandboxJob {
  startedAt: number
  durationMs: number
  fails: string | null
  seconds: number
  width: number
  height: number
}

const choices = { seconds: 4, size: '640x360', sound: 'never' } as const

/**
 * Delivers shipped films in the ordered size and length; prompts and frames do not change them. Lines of the
 * prompt may be directives: `sandbox:delay <ms>` sets the duration of the job, `sandbox:error <name>` rejects
 * it (see directives.ts), `sandbox:fail <name>` makes it fail at the end.
 */
export function createSandboxVideos (
  { durationMs = 5_000 }: { durationMs?: number | undefined }
): VideoProvider {
  return {
    polling: { minMs: 250, maxMs: 5_000, deadlineMs: 900_000 },
    // The handle is the only state, so a repeated submit has no effect.
    submitsOnce: true,
    frameFormat: 'bytes',
    choices: () => choices,
    check: () => {},

    async submit ({ prompt, seconds, size: { width, height } }) {
      const directives = readDirectives(prompt)
      const rejection = directives.find(({ verb }) => verb === 'error')?.directive.error
      if (rejection != null) throw rejection
      const delay = directives.find(({ verb }) => verb === 'delay')
      const fails = directives.find(({ verb }) => verb === 'fail')?.name ?? null
      const job: SandboxJob = {
        startedAt: Date.now(),
        durationMs: delay?.directive.delayMs ?? durationMs,
        fails,
        seconds,
        width,
        height
      }
      return { handle: JSON.stringify(job) }
    },

    poll: async handle => stateOf(readHandle(handle)),
    cancel: async () => {}
  }
}

function stateOf ({ startedAt, durationMs, fails, seconds, ...size }: SandboxJob): VideoState {
  const done = durationMs === 0 ? 1 : (Date.now() - startedAt) / durationMs
  if (done < 0.1) return { state: 'queued', progress: 0 }
  if (done < 1) return { state: 'running', progress: Math.floor(done * 100) }
  const error = fails === null ? null : readDirective(`sandbox:error ${fails}`).error
  if (error !== null) return { state: 'failed', error }
  return { state: 'succeeded', videos: [{ open: () => openFilm(size, seconds) }], seconds, costNano: null }
}

/** Opens the film nearest to a size, as if it were downloaded. */
export async function openFilm (size: VideoSize, seconds: number): Promise<UpstreamResponse> {
  return toResponse(await readFilm(size, seconds))
}

interface PromptDirective { verb: string, name: string, directive: Directive }

function readDirectives (prompt: string): PromptDirective[] {
  return prompt.split('\n').flatMap(line => {
    const [, verb, name = ''] = /^\s*sandbox:(error|delay|fail) ([\w-]{1,20})\s*$/.exec(line) ?? []
    if (verb === undefined) return []
    return [{ verb, name, directive: readDirective(verb === 'fail' ? `sandbox:error ${name}` : line) }]
  })
}

function readHandle (handle: string): SandboxJob {
  const job: unknown = JSON.parse(handle)
  if (isJob(job)) return job
  throw new UpstreamError('not_found', 'yes', 'The sandbox has no such job.', { status: 404 })
}

function isJob (value: unknown): value is SandboxJob {
  return isObject(value) &&
    [value.startedAt, value.durationMs, value.seconds, value.width, value.height].every(Number.isFinite)
}

function toResponse (body: Buffer): UpstreamResponse {
  return {
    status: 200,
    headers: { 'content-type': 'video/mp4', 'content-length': String(body.length) },
    read: async () => body,
    pipeTo (sink) {
      sink.chunk(body)
      sink.end()
    },
    resume: () => {},
    cancel: () => {},
    finish: () => {},
    async * [Symbol.asyncIterator] () { yield body }
  }
}
