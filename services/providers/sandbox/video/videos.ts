import { setImmediate as afterOthers } from 'node:timers/promises'
import { UpstreamError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/json.ts'
import type { FrameImage, VideoProvider, VideoState, VideoTask } from '../../provider-video.ts'
import { readDirective, type Directive } from '../directives.ts'
import { renderVideo } from './render.ts'
import type { Scene } from './scene.ts'
import type { UpstreamResponse } from '../../upstream/response.ts'

/** The complete state of a job; it is the handle, so that jobs survive a restart. */
interface SandboxJob { startedAt: number, durationMs: number, fails: string | null, scene: Scene }

const choices = { seconds: 4, size: '640x360', sound: 'never' } as const

/**
 * Renders videos in this process: moving shapes in the colours of the prompt, between the first and the last
 * frame of the request. Lines of the prompt may be directives: `sandbox:delay <ms>` sets the duration of the
 * job, `sandbox:error <name>` rejects it (see directives.ts), `sandbox:fail <name>` makes it fail at the end.
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

    async submit (task) {
      // A picture has megabytes; before and after it, other requests have their turn, as a network gives it.
      await afterOthers()
      const { prompt, directives } = readPrompt(task.prompt)
      const rejection = directives.find(({ verb }) => verb === 'error')?.directive.error
      if (rejection != null) throw rejection
      const delay = directives.find(({ verb }) => verb === 'delay')
      const job: SandboxJob = {
        startedAt: Date.now(),
        durationMs: delay?.directive.delayMs ?? durationMs,
        fails: directives.find(({ verb }) => verb === 'fail')?.name ?? null,
        scene: {
          prompt,
          seed: task.seed ?? 0,
          seconds: task.seconds,
          ...sizeOf(task),
          first: toBase64(task.firstFrame),
          last: toBase64(task.lastFrame)
        }
      }
      const handle = JSON.stringify(job)
      await afterOthers()
      return { handle }
    },

    poll: async handle => stateOf(readHandle(handle)),
    cancel: async () => {}
  }
}

function stateOf ({ startedAt, durationMs, fails, scene }: SandboxJob): VideoState {
  const done = durationMs === 0 ? 1 : (Date.now() - startedAt) / durationMs
  if (done < 0.1) return { state: 'queued', progress: 0 }
  if (done < 1) return { state: 'running', progress: Math.floor(done * 100) }
  const error = fails === null ? null : readDirective(`sandbox:error ${fails}`).error
  if (error !== null) return { state: 'failed', error }
  const open = async (signal: AbortSignal): Promise<UpstreamResponse> =>
    toResponse(await renderVideo(scene, signal))
  return { state: 'succeeded', videos: [{ open }], seconds: scene.seconds, costNano: null }
}

interface PromptDirective { verb: string, name: string, directive: Directive }

function readPrompt (text: string): { prompt: string, directives: PromptDirective[] } {
  const directives: PromptDirective[] = []
  const lines = text.split('\n').filter(line => {
    const [, verb, name = ''] = /^\s*sandbox:(error|delay|fail) ([\w-]{1,20})\s*$/.exec(line) ?? []
    if (verb === undefined) return true
    const text = verb === 'fail' ? `sandbox:error ${name}` : line
    directives.push({ verb, name, directive: readDirective(text) })
    return false
  })
  return { prompt: lines.join('\n').trim(), directives }
}

function sizeOf ({ size }: VideoTask): { width: number, height: number } {
  return { width: even(size.width), height: even(size.height) }
}

/** H.264 with 4:2:0 chroma subsampling requires even dimensions. */
const even = (pixels: number): number => Math.max(2, Math.round(pixels / 2) * 2)

function toBase64 (image: FrameImage | null): string | null {
  if (image === null) return null
  if ('url' in image) throw invalidImage('The sandbox accepts images as bytes only.')
  if (!/^image\/(png|jpe?g|webp|gif)$/.test(image.mime)) throw invalidImage('The sandbox accepts PNG, JPEG, WebP and GIF.')
  return Buffer.from(image.bytes).toString('base64')
}

function invalidImage (message: string): UpstreamError {
  return new UpstreamError('bad_request', 'yes', message, { status: 400, param: 'messages', code: 'invalid_image' })
}

function readHandle (handle: string): SandboxJob {
  const job: unknown = JSON.parse(handle)
  if (isJob(job)) return job
  throw new UpstreamError('not_found', 'yes', 'The sandbox has no such job.', { status: 404 })
}

function isJob (value: unknown): value is SandboxJob {
  return isObject(value) && typeof value.startedAt === 'number' && typeof value.durationMs === 'number' && isObject(value.scene)
}

function toResponse (bytes: Uint8Array): UpstreamResponse {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
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
