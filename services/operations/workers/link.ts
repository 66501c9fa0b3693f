/** One end of the channel between a process and its worker: `process` or a child process. */
export interface Channel {
  readonly connected: boolean
  send? (
    message: Message, handle?: undefined, options?: undefined, onSent?: (error: Error | null) => void
  ): unknown
  on (event: 'message', listener: (message: unknown) => void): unknown
}

/** Messages of the channel; the types of values are agreed by name. */
export type Message =
  | { type: 'call', id: number, name: string }
  | { type: 'response', id: number, value: unknown }
  | { type: 'failure', id: number, message: string }
  | { type: 'note', name: string, value: unknown }

interface LinkHandlers {
  /** Handlers of the other end's calls, by name. */
  handlers?: Readonly<Record<string, () => unknown>>
  /** Handlers of the other end's notifications, by name. */
  notes?: Readonly<Record<string, (value: never) => void>>
  /** Time limit of a call. */
  timeoutMs?: number
}

export interface Link {
  /** Rejects with an Error if the other end fails, has ended or does not respond in time. */
  call (name: string): Promise<unknown>
  /** Sends a notification, which is lost if the other end has ended. */
  notify (name: string, value: unknown): void
}

const usualTimeoutMs = 3_000

/**
 * Creates one end of the link between a process and its worker: calls and notifications in both directions.
 */
export function createLink (
  channel: Channel, { handlers = {}, notes = {}, timeoutMs = usualTimeoutMs }: LinkHandlers
): Link {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let lastId = 0

  function send (message: Message): void {
    // The other end may end at this moment; its `close` event handles that.
    if (channel.connected) channel.send?.(message, undefined, undefined, () => {})
  }

  async function respond (id: number, name: string): Promise<void> {
    try {
      const read = handlers[name]
      if (read === undefined) throw new Error(`Unknown call: ${name}`)
      send({ type: 'response', id, value: await read() })
    } catch (error) {
      send({ type: 'failure', id, message: error instanceof Error ? error.message : String(error) })
    }
  }

  channel.on('message', received => {
    const message = received as Message
    switch (message.type) {
      case 'call':
        respond(message.id, message.name)
        break
      case 'response':
        waiting.get(message.id)?.resolve(message.value)
        break
      case 'failure':
        waiting.get(message.id)?.reject(new Error(message.message))
        break
      case 'note':
        notes[message.name]?.(message.value as never)
    }
  })

  return {
    async call (name) {
      const id = ++lastId
      const response = Promise.withResolvers<unknown>()
      waiting.set(id, response)
      const fail = (): void => response.reject(new Error(`No response to ${name} within ${timeoutMs} ms`))
      const timer = setTimeout(fail, timeoutMs)
      try {
        send({ type: 'call', id, name })
        return await response.promise
      } finally {
        clearTimeout(timer)
        waiting.delete(id)
      }
    },
    notify: (name, value) => send({ type: 'note', name, value })
  }
}
