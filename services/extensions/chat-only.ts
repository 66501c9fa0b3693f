import type { Provider } from '../providers/provider.ts'

/**
 * The providers as ones that have chat alone of the APIs for text: what plugins read and change is the chat
 * form, which providers must then get too.
 */
export function chatOnly (
  provider: (id: string) => Provider | undefined
): (id: string) => Provider | undefined {
  const chatOnly = new WeakMap<Provider, Provider>()
  return id => {
    const found = provider(id)
    if (found === undefined) return undefined
    const before = chatOnly.get(found)
    if (before !== undefined) return before
    const rest = { ...found }
    delete rest.complete
    delete rest.messages
    delete rest.responses
    delete rest.countMessageTokens
    chatOnly.set(found, rest)
    return rest
  }
}
