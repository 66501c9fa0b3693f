import { definePlugin, defineProvider } from 'tollgate'

/** A protocol with a model that repeats the last message, word by word. */
const echo = defineProvider({
  async * chat ({ body, signal }) {
    const words = String(body.messages.at(-1)?.content).split(/(?<= )/)
    for (const text of words) {
      if (signal.aborted) return
      yield { type: 'text', text }
    }
    // Charged by the price in gateway.yaml. Without a usage, the gateway estimates one.
    yield { type: 'usage', prompt: words.length, completion: words.length }
  },
  models: () => ['echo-1']
})

export default definePlugin({ name: 'echo', providers: { echo } })
