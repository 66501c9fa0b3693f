import { isIPv6 } from 'node:net'
import { createLru } from '../../shared/lru.ts'
import { tooManySignIns } from './errors.ts'

const maxWrong = 10
const windowMs = 5 * 60_000
const maxAddresses = 10_000

/** Counts wrong keys by address on this node: after 10 within 5 minutes, further ones get 429. */
export function createSignInAttempts (clock: () => number) {
  const wrong = createLru<{ count: number, until: number }>(maxAddresses)
  const find = (address: string) => {
    const found = wrong.get(networkOf(address))
    return found === undefined || found.until <= clock() ? undefined : found
  }
  return {
    /** Counts a wrong key. Throws GatewayError 429 if it is one too many. */
    fail (address: string): void {
      const { count, until } = find(address) ?? { count: 0, until: clock() + windowMs }
      if (count >= maxWrong) throw tooManySignIns(until - clock())
      wrong.set(networkOf(address), { count: count + 1, until })
    }
  }
}

/** The holder of an IPv6 address usually has the whole /64 network. */
function networkOf (address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address
  const [withoutZone = ''] = address.split('%', 1)
  const [head = [], tail = []] = withoutZone.split('::').map(part => part.split(':').filter(Boolean))
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail]
  return groups.slice(0, 4).map(group => Number.parseInt(group, 16).toString(16)).join(':')
}
