import type { Registry } from 'prom-client'

type Library = typeof import('prom-client')
interface Opened { library: Library, registry: Registry }

/** Adds one metric to a registry. */
export type Registration = (opened: Opened) => void

/** Metrics on their way to a registry. */
export interface Registrations {
  add (registration: Registration): void
  /** The registry with all of them in it. */
  registry (): Promise<Registry>
}

/**
 * Collects metrics until somebody asks for them. The library is loaded then, so that no start waits for it,
 * and what it measures of the process itself costs nothing where nobody looks.
 */
export function createRegistrations (): Registrations {
  const waiting: Registration[] = []
  let opening: Promise<Opened> | null = null
  let opened: Opened | null = null

  async function open (): Promise<Opened> {
    const library = await import('prom-client')
    opened = { library, registry: new library.Registry() }
    library.collectDefaultMetrics({ register: opened.registry })
    for (const registration of waiting) registration(opened)
    return opened
  }

  return {
    add (registration) {
      if (opened === null) waiting.push(registration)
      else registration(opened)
    },
    async registry () {
      opening ??= open()
      return (await opening).registry
    }
  }
}
