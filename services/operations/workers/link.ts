/** One end of the channel between a process and its worker: `process` or a child process. */
export interface Channel {
  readonly connected: boolean
  send? (
    message: Message, handle?: undefined, options?: undefined, onSent?: (error: Error | null) => void
  ): unknown
  on (event: 'message', listener: (message: unknown) => void): unknown
}

/** Messages of the channel; what values hold is agreed between question and answer. */
export type Message =
  | { type: 'question', id: number, name: string }
  | { type: 'answer', id: number, value: unknown }
  | { type: 'failure', id: number, message: string }
  | { type: 'note', name: string, value: unknown }

interface LinkHandlers {
  /** Answers to questions of the other end, by name. */
  answers?: Readonly<Record<string, () => unknown>>
  /** What to do with notes of the other end, by name. */
  notes?: Readonly<Record<string, (value: never) => void>>
  /** How long to wait for an answer. */
  timeoutMs?: number
}

export interface Link {
  /** Rejects with an Error if the other end fails, is gone, or does not answer in time. */
  ask (name: string): Promise<unknown>
  /** Sends a note; lost when the other end is gone. */
  tell (name: string, value: unknown): void
}

const usualTimeoutMs = 3_000

/** Creates one end of the link between a process and its worker, which ask and tell each other. */
export function createLink (
  channel: Channel, { answers: responses = {}, notes = {}, timeoutMs = usualTimeoutMs }: LinkHandlers
): Link {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let lastId = 0

  function send (message: Message): void {
    // The other end may go at this moment, which is handled where it is noticed.
    if (channel.connected) channel.send?.(message, undefined, undefined, () => {})
  }

  async function answer (id: number, name: string): Promise<void> {
    try {
      const read = responses[name]
      if (read === undefined) throw new Error(`Unknown question: ${name}`)
      send({ type: 'answer', id, value: await read() })
    } catch (error) {
      send({ type: 'failure', id, message: error instanceof Error ? error.message : String(error) })
    }
  }

  channel.on('message', received => {
    const message = received as Message
    switch (message.type) {
      case 'question':
        answer(message.id, message.name)
        break
      case 'answer':
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
    async ask (name) {
      const id = ++lastId
      const answered = Promise.withResolvers<unknown>()
      waiting.set(id, answered)
      const timer = setTimeout(() => answered.reject(new Error(`No answer to ${name} within ${timeoutMs} ms`)), timeoutMs)
      try {
        send({ type: 'question', id, name })
        return await answered.promise
      } finally {
        clearTimeout(timer)
        waiting.delete(id)
      }
    },
    tell: (name, value) => send({ type: 'note', name, value })
  }
}
