import type { ProviderConfig } from '../config/catalogue/types.ts'
import { UpstreamError } from '../shared/errors.ts'
import { Deadlines } from '../shared/timers.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import { createProvider } from './registry.ts'

/**
 * Explains why a provider's model makes no videos of a length, in seconds; null if its adapter does not say.
 * Calls no server.
 */
export function refusedLength (config: ProviderConfig, model: string, seconds: number): string | null {
  const { videos } = createProvider(config, new Deadlines())
  if (videos === undefined) return null
  const { size, sound } = videos.choices(model)
  const [width = 0, height = 0] = size.split('x').map(Number)
  const picture = videos.frameFormat === 'bytes'
    ? { bytes: new Uint8Array(1), mime: 'image/png' }
    : { url: 'https://images.example/frame.png' }
  const choices = { model, prompt: 'x', seconds, size: { width, height }, audio: sound === 'always', isSizeAsked: false }
  const task = { ...choices, aspectRatio: null, seed: null, lastFrame: null, submitKey: '' }
  // Some models need a picture, and some take none.
  const refusals = [null, picture].map(firstFrame => lengthRefusal(videos, { ...task, firstFrame }))
  return refusals.find(refusal => refusal !== null) ?? null
}

function lengthRefusal (videos: VideoProvider, task: VideoTask): string | null {
  try {
    videos.check(task)
    return null
  } catch (error) {
    return error instanceof UpstreamError && error.details.param === 'video.seconds' ? error.message : null
  }
}
