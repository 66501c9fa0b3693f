import type { ProviderConfig } from '../catalogue/types.ts'
import type { Deadlines } from '../shared/deadline-timer.ts'
import type { Download } from '../media/media.ts'
import { protocols } from './protocols.ts'
import type { Provider } from './provider.ts'

/** The providers of the running configuration. */
export interface Providers {
  get (id: string): Provider | undefined
  /** The origin of a provider's base URL; undefined when it has none. */
  originOf (id: string): string | undefined
  /**
   * Makes these the providers. Unchanged ones keep their connections; calls that run on replaced or removed
   * ones finish undisturbed.
   */
  apply (configs: readonly ProviderConfig[]): void
  /** Resolves when every call has finished and every connection is closed. */
  close (): Promise<void>
}

interface Connected { provider: Provider, origin: string | undefined, fingerprint: string }

/**
 * Connects to providers as the configuration names them; `onError` hears of connections that do not close.
 * `download` fetches what clients name by address, for providers that want the bytes.
 */
export function createProviders (
  deadlines: Deadlines, onError: (error: unknown) => void, download: Download | null = null
): Providers {
  let connected = new Map<string, Connected>()
  const closing = new Set<Promise<void>>()

  function retire ({ provider }: Connected): void {
    const closed = provider.close().catch(onError).finally(() => closing.delete(closed))
    closing.add(closed)
  }

  return {
    get: id => connected.get(id)?.provider,
    originOf: id => connected.get(id)?.origin,
    apply (configs) {
      const next = new Map<string, Connected>()
      for (const config of configs) {
        const fingerprint = JSON.stringify(config)
        const before = connected.get(config.id)
        const kept = before?.fingerprint === fingerprint ? before : undefined
        const origin = URL.parse(config.baseUrl)?.origin
        const connect = protocols[config.protocol]
        next.set(config.id, kept ?? { provider: connect(config, deadlines, download), origin, fingerprint })
      }
      const isRetired = ({ provider }: Connected) => next.get(provider.id)?.provider !== provider
      const retired = [...connected.values()].filter(isRetired)
      connected = next
      retired.forEach(retire)
    },
    async close () {
      for (const one of connected.values()) retire(one)
      connected = new Map()
      await Promise.all(closing)
    }
  }
}
