import { lookup as systemLookup } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isPublicAddress } from './public-address.ts'

/** An address that must not be connected to. Says nothing of where a name leads. */
export class PrivateAddress extends Error {
  constructor () {
    super('The address is not a public one.')
    this.name = 'PrivateAddress'
  }
}

/** The ways out; given from outside, so that tests can have an Internet of their own. */
export interface Network {
  lookup?: LookupFunction
  isPublic?: (address: string) => boolean
  /** Certificates that are trusted besides or instead of the usual ones. */
  ca?: string
}

/**
 * Opens connections to public addresses only. A name is resolved once, and what was checked is what is
 * connected to: an answer that changes in between changes nothing.
 */
export function createPublicConnector (
  { lookup = systemLookup, isPublic = isPublicAddress, ca }: Network, timeoutMs: number
): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    lookup: checkedLookup(lookup, isPublic),
    ...(ca === undefined ? {} : { ca })
  })
  return (options, callback) => {
    // What is a number already is never looked up.
    const literal = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(literal) !== 0 && !isPublic(literal)) return callback(new PrivateAddress(), null)
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      if (isPublic(socket.remoteAddress ?? '')) return callback(null, socket)
      socket.destroy()
      callback(new PrivateAddress(), null)
    })
  }
}

/** One address among them that is not public makes a name suspicious, and all of it is refused. */
function checkedLookup (
  lookup: LookupFunction, isPublic: (address: string) => boolean
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '', 0)
      const addresses = Array.isArray(found) ? found : [{ address: found, family: isIP(found) }]
      const [first] = addresses
      if (first === undefined || !addresses.every(({ address }) => isPublic(address))) {
        return callback(new PrivateAddress(), '', 0)
      }
      if (options.all === true) return callback(null, addresses)
      callback(null, first.address, first.family)
    })
  }
}
