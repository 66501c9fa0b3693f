import type { ProviderConfig } from '../../services/config/catalogue/types.ts'

/**
 * Timeouts of a provider that a busy machine does not reach. A test of one timeout shortens that one, to a
 * second or more if the call has to get as far as the provider first.
 */
export const generous: ProviderConfig['timeouts'] = {
  connectMs: 30_000, firstByteMs: 30_000, idleMs: 30_000, totalMs: 90_000
}
