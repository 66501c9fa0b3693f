import type { MadeImage } from './image-maker.ts'
import type { Connection } from './provider.ts'

/** The provider's own server, whose files are fetched over the connection that leads there. */
export interface Home { baseUrl: string, connection: Connection }

/**
 * An image at an address that a provider gave: the bytes of a data URL, a file on the provider's own server,
 * or whatever else it is, which only a safe download may fetch. No key goes with it.
 */
export function imageAt (address: string, revisedPrompt: string | null, home: Home): MadeImage {
  const data = /^data:[^,]{0,200};base64,/.exec(address)
  if (data !== null) return { bytes: bytesOf(address.slice(data[0].length)), revisedPrompt }
  const path = pathAtHome(address, home.baseUrl)
  if (path === null) return { url: address, revisedPrompt }
  return {
    open: signal => home.connection.send({ method: 'GET', path, headers: { accept: 'image/*' }, signal }),
    revisedPrompt
  }
}

/** An image that a provider sent as base64, bare or as a data URL. */
export function imageFrom (base64: string, revisedPrompt: string | null): MadeImage {
  const comma = base64.startsWith('data:') ? base64.indexOf(',') + 1 : 0
  return { bytes: bytesOf(base64.slice(comma)), revisedPrompt }
}

function bytesOf (base64: string): Uint8Array {
  return Buffer.from(base64, 'base64')
}

/** The path of an address below a base URL; null when it leads anywhere else. */
function pathAtHome (address: string, baseUrl: string): string | null {
  const base = new URL(baseUrl)
  if (!URL.canParse(address)) return null
  const { origin, pathname, search } = new URL(address)
  const prefix = base.pathname.replace(/\/$/, '')
  return origin === base.origin && pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) + search : null
}
