/** The model that the benchmark asks for; the provider calls it so, too. */
export const model = 'bench'
/** The same under other names: sold, and given away, so that no money is held or booked for it. */
export const soldModel = 'bench-sold'
export const freeModel = 'bench-free'

export type RequestName = 'short' | 'sold' | 'free' | 'long' | 'stream'

const sentence = 'The bridge was closed for repairs until the end of the week, so the toll was not collected. '

/** The bodies that are sent: about 1 KB, about 50 KB as a long conversation, and 1 KB for a stream. */
export const requests: Readonly<Record<RequestName, { body: Buffer, isStream: boolean }>> = {
  short: { body: bodyOf({ turns: 1, sentences: 9 }), isStream: false },
  sold: { body: bodyOf({ turns: 1, sentences: 9, more: { model: soldModel } }), isStream: false },
  free: { body: bodyOf({ turns: 1, sentences: 9, more: { model: freeModel } }), isStream: false },
  long: { body: bodyOf({ turns: 49, sentences: 11 }), isStream: false },
  stream: {
    body: bodyOf({ turns: 1, sentences: 9, more: { stream: true, stream_options: { include_usage: true } } }),
    isStream: true
  }
}

interface Conversation { turns: number, sentences: number, more?: object }

function bodyOf ({ turns, sentences, more = {} }: Conversation): Buffer {
  const messages = Array.from({ length: turns }, (_, index) => {
    return { role: index % 2 === 0 ? 'user' : 'assistant', content: `${index}: ${sentence.repeat(sentences)}` }
  })
  const system = { role: 'system', content: 'You are a helpful assistant.' }
  return Buffer.from(JSON.stringify({ model, messages: [system, ...messages], temperature: 0.7, ...more }))
}
