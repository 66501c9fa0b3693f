import { useEffect, useState } from 'preact/hooks'
import { readEvents } from './events.ts'
import { send } from './fetch.ts'
import { parseExact } from './received.ts'

const againMs = 2000

/** The newest event of a stream of server-sent events, which is opened again after it breaks off. */
export function useLive<Event> (path: string): { event: Event | null, error: unknown } {
  const [event, setEvent] = useState<Event | null>(null)
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    async function listen (): Promise<void> {
      try {
        const { body } = await send(path, { signal: controller.signal })
        setError(null)
        if (body !== null) for await (const data of readEvents(body)) setEvent(parseExact(data) as Event)
      } catch (error) {
        if (!controller.signal.aborted) setError(error)
      }
      if (!controller.signal.aborted) timer = setTimeout(() => { listen() }, againMs)
    }
    listen()
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [path])
  return { event, error }
}
