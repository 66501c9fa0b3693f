import { UpstreamError } from '../../../shared/errors.ts'
import type { Scene } from './scene.ts'
import { createThreads } from './threads.ts'

/** Each takes a processor for a second or two. */
const maxAtOnce = 2
const threads = createThreads(new URL('worker.ts', import.meta.url))
let running = 0
const waiting: (() => void)[] = []

/**
 * Makes the MP4 of a scene, in a thread of its own; the encoder is loaded there and nowhere else. Throws
 * UpstreamError.
 */
export async function render (scene: Scene, signal: AbortSignal): Promise<Uint8Array> {
  if (running >= maxAtOnce) await new Promise<void>(resolve => waiting.push(resolve))
  running++
  try {
    return await inThread(scene, signal)
  } finally {
    running--
    waiting.shift()?.()
  }
}

async function inThread (scene: Scene, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return await threads.run(scene, signal, answer => answer instanceof Uint8Array ? answer : null)
  } catch (cause) {
    if (signal.aborted) throw new UpstreamError('aborted', 'yes', 'The video was given up.', { cause })
    throw new UpstreamError('bad_reply', 'yes', 'The sandbox could not make the video.', { cause })
  }
}
