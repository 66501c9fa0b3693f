import { createLru } from '../shared/lru.ts'
import { tooManySignIns } from './errors.ts'

const maxWrong = 10
const windowMs = 5 * 60_000
const maxAddresses = 10_000

/** Counts wrong keys by address, on this node: after 10 within 5 minutes the address has to wait. */
export function createSignInAttempts (clock: () => number) {
  const wrong = createLru<{ count: number, until: number }>(maxAddresses)
  const find = (address: string) => {
    const found = wrong.get(networkOf(address))
    return found === undefined || found.until <= clock() ? undefined : found
  }
  return {
    /** Throws GatewayError 429. */
    check (address: string): void {
      const found = find(address)
      if (found !== undefined && found.count >= maxWrong) throw tooManySignIns(found.until - clock())
    },

    fail (address: string): void {
      const { count, until } = find(address) ?? { count: 0, until: clock() + windowMs }
      wrong.set(networkOf(address), { count: count + 1, until })
    }
  }
}

/** Whoever has an IPv6 address has the 64 bits behind its network too. */
function networkOf (address: string): string {
  return address.includes(':') && !address.includes('.') ? address.split(':').slice(0, 4).join(':') : address
}
