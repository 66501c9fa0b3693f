// A plugin with a protocol of its own: a model that repeats the last message, word by word.

/** @type {import('tollgate').ProviderDefinition} */
const echo = {
  async * chat ({ body, signal }) {
    const last = body.messages.at(-1)
    const words = String(last?.content).split(/(?<= )/)
    for (const word of words) {
      if (signal.aborted) return
      yield { type: 'text', text: word }
    }
    // Charged by the price in gateway.yaml. Without a usage, the gateway estimates one.
    yield { type: 'usage', prompt: words.length, completion: words.length }
  },
  models: () => ['echo-1']
}

export default { name: 'echo', providers: { echo } }
