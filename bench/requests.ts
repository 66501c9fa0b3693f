/** The model of the benchmark, in the gateway and at the provider. */
export const model = 'bench'
/** The same model with a price, and without one, for which no money is held or charged. */
export const pricedModel = 'bench-priced'
export const freeModel = 'bench-free'

export type RequestName = 'short' | 'priced' | 'free' | 'long' | 'stream'

const sentence = 'The bridge was closed for repairs until the end of the week, so the toll was not collected. '

/** The request bodies: about 1 KB, a long conversation of about 50 KB, and 1 KB for a stream. */
export const requests: Readonly<Record<RequestName, { body: Buffer, isStream: boolean }>> = {
  short: { body: bodyOf({ turns: 1, sentences: 9 }), isStream: false },
  priced: { body: bodyOf({ turns: 1, sentences: 9, more: { model: pricedModel } }), isStream: false },
  free: { body: bodyOf({ turns: 1, sentences: 9, more: { model: freeModel } }), isStream: false },
  long: { body: bodyOf({ turns: 49, sentences: 11 }), isStream: false },
  stream: {
    body: bodyOf({ turns: 1, sentences: 9, more: { stream: true, stream_options: { include_usage: true } } }),
    isStream: true
  }
}

interface BodyShape { turns: number, sentences: number, more?: object }

function bodyOf ({ turns, sentences, more = {} }: BodyShape): Buffer {
  const messages = Array.from({ length: turns }, (_, index) => {
    return { role: index % 2 === 0 ? 'user' : 'assistant', content: `${index}: ${sentence.repeat(sentences)}` }
  })
  const system = { role: 'system', content: 'You are a helpful assistant.' }
  return Buffer.from(JSON.stringify({ model, messages: [system, ...messages], temperature: 0.7, ...more }))
}
