import type { Provider } from '../providers/provider.ts'

/**
 * Returns the providers without their text APIs other than chat: plugins read and change the chat form, so
 * providers must receive it too.
 */
export function chatOnly (
  provider: (id: string) => Provider | undefined
): (id: string) => Provider | undefined {
  const reduced = new WeakMap<Provider, Provider>()
  return id => {
    const found = provider(id)
    if (found === undefined) return undefined
    const before = reduced.get(found)
    if (before !== undefined) return before
    const rest = { ...found }
    delete rest.complete
    delete rest.messages
    delete rest.responses
    delete rest.countMessageTokens
    reduced.set(found, rest)
    return rest
  }
}
