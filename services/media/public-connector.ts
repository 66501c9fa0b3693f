import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isPublicAddress } from './public-address.ts'

/** The target is not a public address. The message does not reveal what a name resolves to. */
export class PrivateAddressError extends Error {
  constructor () {
    super('The address is not public.')
    this.name = 'PrivateAddressError'
  }
}

export interface Network {
  lookup?: LookupFunction
  isPublic?: (address: string) => boolean
  /** Certificate authorities to trust instead of the default ones. */
  ca?: string
}

/** An undici connector for public addresses only. A name is resolved once, which defeats DNS rebinding. */
export function createPublicConnector (
  { lookup = systemLookup, isPublic = isPublicAddress, ca }: Network, timeoutMs: number
): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    lookup: checkedLookup(lookup, isPublic),
    ...(ca === undefined ? {} : { ca })
  })
  return (options, callback) => {
    const literal = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(literal) !== 0 && !isPublic(literal)) return callback(new PrivateAddressError(), null)
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      if (isPublic(socket.remoteAddress ?? '')) return callback(null, socket)
      socket.destroy()
      callback(new PrivateAddressError(), null)
    })
  }
}

/** Rejects a name if any of its addresses is not public. */
function checkedLookup (lookup: LookupFunction, isPublic: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '', 0)
      const addresses = Array.isArray(found) ? found : [{ address: found, family: isIP(found) }]
      const [first] = addresses
      if (first === undefined || !addresses.every(({ address }) => isPublic(address))) {
        return callback(new PrivateAddressError(), '', 0)
      }
      if (options.all === true) return callback(null, addresses)
      callback(null, first.address, first.family)
    })
  }
}
