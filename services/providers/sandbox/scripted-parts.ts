import type { ProviderParts } from '../provider.ts'
import type { ImageCall } from '../provider-image.ts'
import type { VideoProvider } from '../provider-video.ts'
import { createSandboxChat } from './chat.ts'
import { delay } from './delay.ts'
import { generateSandboxImages } from './images.ts'
import { directiveOf, videoErrorOf, type Script } from './script.ts'
import { openFilm } from './videos.ts'

/** The parts of a provider that play a script: limits and prices stay the same, but no server is called. */
export function scriptedParts ({ chat, images, videos }: ProviderParts, script: Script): ProviderParts {
  return {
    ...chat !== undefined && {
      chat: upstream => {
        const { unmet } = chat(upstream)
        return { ...unmet !== undefined && { unmet }, ...createSandboxChat({ pieceMs: 0, script }) }
      }
    },
    ...images !== undefined && {
      // Keeps the provider's facts about its models.
      images: upstream => Object.assign((call: ImageCall) => play(call, script), { ...images(upstream) })
    },
    ...videos !== undefined && { videos: upstream => scriptedVideos(videos(upstream), script) }
  }
}

async function play (call: ImageCall, script: Script) {
  const step = script.next({ kind: 'image', model: call.model, body: call.request })
  const { error, delayMs, breakOff } = directiveOf(step)
  await delay(delayMs, call.signal)
  const failure = error ?? breakOff
  if (failure !== null) throw failure
  return await generateSandboxImages(call)
}

function scriptedVideos ({ frameFormat, choices, check }: VideoProvider, script: Script): VideoProvider {
  const polls = new Map<string, number>()
  return {
    polling: { minMs: 10, maxMs: 100, deadlineMs: 900_000 },
    submitsOnce: true,
    ...frameFormat !== undefined && { frameFormat },
    choices,
    check,
    async submit (task, signal) {
      const { seconds, size, prompt, model } = task
      const step = script.next({ kind: 'video', model, body: { model, prompt, seconds, size } })
      const { error, delayMs } = directiveOf(step)
      await delay(delayMs, signal)
      if (error !== null) throw error
      return { handle: JSON.stringify({ id: task.submitKey, step, seconds, size }) }
    },
    async poll (handle) {
      const { id, step, seconds, size } = JSON.parse(handle)
      const count = polls.get(id) ?? 0
      polls.set(id, count + 1)
      if (count < (step.video?.queued ?? 0)) return { state: 'queued', progress: 0 }
      const error = videoErrorOf(step)
      if (error !== null) return { state: 'failed', error }
      return { state: 'succeeded', videos: [{ open: () => openFilm(size, seconds) }], seconds, costNano: null }
    },
    cancel: async () => {}
  }
}
