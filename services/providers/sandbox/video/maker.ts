import { UpstreamError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/json.ts'
import type { FrameImage, VideoProvider, VideoState, VideoTask } from '../../provider-video.ts'
import { readDirective } from '../directives.ts'
import type { Directive } from '../directives.ts'
import { render } from './render.ts'
import type { Scene } from './scene.ts'
import type { Exchange } from '../../../upstream/exchange.ts'

/** All there is to know of a job, so that it needs no memory and survives everything. */
interface Order { startedAt: number, durationMs: number, fails: string | null, scene: Scene }

const defaults = { seconds: 4, width: 640, height: 360 }
const shortestSide = 360

/**
 * Makes videos in this process: moving shapes in colours that the prompt names or else decides, beginning
 * with the first picture and ending with the last. A line of the prompt may say `sandbox:delay <ms>` (how
 * long it takes), `sandbox:error <name>` (refused at once, see directives.ts) or `sandbox:fail <name>` (fails
 * in the end).
 */
export function createSandboxVideos (
  { durationMs = 5_000 }: { durationMs?: number | undefined }
): VideoProvider {
  return {
    polling: { minMs: 250, maxMs: 5_000, deadlineMs: 900_000 },
    // A handle holds the whole order and nothing else is kept, so two of them are one.
    submitsOnce: true,
    pictures: 'bytes',

    async submit (task) {
      const { prompt, directives } = readPrompt(task.prompt)
      const refusal = directives.find(({ verb }) => verb === 'error')?.directive.error
      if (refusal != null) throw refusal
      const delay = directives.find(({ verb }) => verb === 'delay')
      const order: Order = {
        startedAt: Date.now(),
        durationMs: delay?.directive.delayMs ?? durationMs,
        fails: directives.find(({ verb }) => verb === 'fail')?.name ?? null,
        scene: {
          prompt,
          seed: task.seed ?? 0,
          seconds: task.seconds ?? defaults.seconds,
          ...sizeOf(task),
          first: toBase64(task.firstFrame),
          last: toBase64(task.lastFrame)
        }
      }
      return { handle: JSON.stringify(order) }
    },

    poll: async handle => stateOf(readHandle(handle)),
    cancel: async () => {}
  }
}

function stateOf ({ startedAt, durationMs, fails, scene }: Order): VideoState {
  const done = durationMs === 0 ? 1 : (Date.now() - startedAt) / durationMs
  if (done < 0.1) return { state: 'queued', progress: 0 }
  if (done < 1) return { state: 'running', progress: Math.floor(done * 100) }
  const error = fails === null ? null : readDirective(`sandbox:error ${fails}`).error
  if (error !== null) return { state: 'failed', error }
  const open = async (signal: AbortSignal): Promise<Exchange> => toExchange(await render(scene, signal))
  return { state: 'succeeded', videos: [{ open }], seconds: scene.seconds, costNano: null }
}

interface Said { verb: string, name: string, directive: Directive }

function readPrompt (text: string): { prompt: string, directives: Said[] } {
  const directives: Said[] = []
  const lines = text.split('\n').filter(line => {
    const [, verb, name = ''] = /^\s*sandbox:(error|delay|fail) ([\w-]{1,20})\s*$/.exec(line) ?? []
    if (verb === undefined) return true
    const said = verb === 'fail' ? `sandbox:error ${name}` : line
    directives.push({ verb, name, directive: readDirective(said) })
    return false
  })
  return { prompt: lines.join('\n').trim(), directives }
}

function sizeOf ({ size, aspectRatio }: VideoTask): { width: number, height: number } {
  if (size !== null) return { width: even(size.width), height: even(size.height) }
  if (aspectRatio === null) return { width: defaults.width, height: defaults.height }
  const [across = 16, down = 9] = aspectRatio.split(':').map(Number)
  const scale = shortestSide / Math.min(across, down)
  return { width: even(across * scale), height: even(down * scale) }
}

/** The encoder halves the colours' resolution. */
const even = (pixels: number): number => Math.max(2, Math.round(pixels / 2) * 2)

function toBase64 (picture: FrameImage | null): string | null {
  if (picture === null) return null
  if ('url' in picture) throw refused('The sandbox wants the picture itself.')
  if (!/^image\/(png|jpe?g|webp|gif)$/.test(picture.mime)) throw refused('The sandbox reads PNG, JPEG, WebP and GIF.')
  return Buffer.from(picture.bytes).toString('base64')
}

function refused (message: string): UpstreamError {
  return new UpstreamError('bad_request', 'yes', message, { status: 400, param: 'messages', code: 'invalid_image' })
}

function readHandle (handle: string): Order {
  const order: unknown = JSON.parse(handle)
  if (isOrder(order)) return order
  throw new UpstreamError('not_found', 'yes', 'The sandbox knows no such job.', { status: 404 })
}

function isOrder (value: unknown): value is Order {
  return isObject(value) && typeof value.startedAt === 'number' && typeof value.durationMs === 'number' && isObject(value.scene)
}

function toExchange (bytes: Uint8Array): Exchange {
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
