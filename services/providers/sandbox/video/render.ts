import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { UpstreamError } from '../../../errors.ts'
import type { Scene } from './scene.ts'

/** Each takes a processor for a second or two. */
const maxAtOnce = 2
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
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: scene })
  try {
    const [video] = await once(worker, 'message', { signal })
    if (video instanceof Uint8Array) return video
    throw new Error(String(video))
  } catch (cause) {
    if (signal.aborted) throw new UpstreamError('aborted', 'yes', 'The video was given up.', { cause })
    throw new UpstreamError('bad_reply', 'yes', 'The sandbox could not make the video.', { cause })
  } finally {
    await worker.terminate()
  }
}
