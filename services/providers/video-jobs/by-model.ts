import type { VideoProvider } from '../provider-video.ts'

interface Second {
  /** Begins the handles of its jobs. No other handle may begin like this. */
  mark: string
  serves: (model: string) => boolean
}

/**
 * A provider with two APIs that take the same key. The first one serves every model that the second does not.
 * Both poll at the same pace, accept frames in the same form and treat repeated submits alike; cancellation
 * is a matter of each.
 */
export function byModel (
  first: VideoProvider, second: VideoProvider, { mark, serves }: Second
): VideoProvider {
  const at = (model: string) => serves(model) ? second : first
  const marked = (model: string, handle: string) => serves(model) ? mark + handle : handle
  const apiOf = (handle: string): [VideoProvider, string] =>
    handle.startsWith(mark) ? [second, handle.slice(mark.length)] : [first, handle]
  return {
    ...first,
    choices: model => at(model).choices(model),
    check: task => at(task.model).check(task),
    async submit (task, signal) {
      const { handle } = await at(task.model).submit(task, signal)
      return { handle: marked(task.model, handle) }
    },
    async poll (handle, signal) {
      const [api, id] = apiOf(handle)
      return await api.poll(id, signal)
    },
    ...((first.cancel ?? second.cancel) && {
      canCancel: (handle: string) => apiOf(handle)[0].cancel !== undefined,
      async cancel (handle: string, signal: AbortSignal) {
        const [api, id] = apiOf(handle)
        await api.cancel?.(id, signal)
      }
    }),
    ...((first.find ?? second.find) && {
      async find (task, signal) {
        const handle = await at(task.model).find?.(task, signal) ?? null
        return handle === null ? null : marked(task.model, handle)
      }
    } satisfies Pick<VideoProvider, 'find'>)
  }
}
