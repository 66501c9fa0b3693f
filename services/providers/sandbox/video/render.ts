import { UpstreamError } from '../../../shared/errors.ts'
import type { Scene } from './scene.ts'
import { createWorkerPool } from './worker-pool.ts'

/** Encoding takes a processor for 1–2 s. */
const maxAtOnce = 2
const workers = createWorkerPool(new URL('worker.ts', import.meta.url))
let running = 0
const waiting: (() => void)[] = []

/** Encodes a scene as MP4 in a worker thread. Throws UpstreamError. */
export async function renderVideo (scene: Scene, signal: AbortSignal): Promise<Uint8Array> {
  if (running >= maxAtOnce) await new Promise<void>(resolve => waiting.push(resolve))
  running++
  try {
    return await inWorker(scene, signal)
  } finally {
    running--
    waiting.shift()?.()
  }
}

async function inWorker (scene: Scene, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return await workers.run(scene, signal, answer => answer instanceof Uint8Array ? answer : null)
  } catch (cause) {
    if (signal.aborted) throw new UpstreamError('aborted', 'yes', 'The video was aborted.', { cause })
    throw new UpstreamError('bad_reply', 'yes', 'The sandbox failed to generate the video.', { cause })
  }
}
