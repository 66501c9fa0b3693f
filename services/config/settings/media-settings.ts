import ipaddr from 'ipaddr.js'
import { readUrl } from '../read-url.ts'
import type { Reader } from './reader.ts'
import type { BlobStoreLocation } from '../../media/blob-store.ts'

/** Where images and videos are kept, for how long, and what signs their addresses. */
export interface MediaSettings {
  place: BlobStoreLocation
  /** Null: one that the nodes on one database share. */
  signingKey: string | null
  /** Signed addresses that are still good; null when there are none. */
  previousSigningKey: string | null
  keepMs: number
}

const dayMs = 86_400_000
const maxKeepDays = 3650
const keyLength = { least: 16, most: 1024 }

/** Reads what concerns media from the environment. */
export function readMediaSettings ({ read }: Reader): MediaSettings {
  return {
    place: read('TOLLGATE_MEDIA', { folder: './data/media' }, readPlace),
    signingKey: read('TOLLGATE_MEDIA_KEY', null, readKey),
    previousSigningKey: read('TOLLGATE_MEDIA_KEY_PREVIOUS', null, readKey),
    keepMs: read('TOLLGATE_MEDIA_DAYS', 7 * dayMs, readDays)
  }
}

/** Reads `TOLLGATE_TRUST_PROXY`: addresses, networks, or the names of kinds of networks. */
export function readProxies (text: string): string[] {
  const proxies = text.split(',').map(proxy => proxy.trim())
  const isKnown = (proxy: string) => /^(loopback|linklocal|uniquelocal)$/.test(proxy) ||
    ipaddr.isValid(proxy) || ipaddr.isValidCIDR(proxy)
  if (proxies.every(isKnown)) return proxies
  throw new RangeError('must be addresses or networks such as 10.0.0.0/8, or loopback, linklocal or uniquelocal, ' +
    'with commas between them')
}

/** Reads `TOLLGATE_TRUSTED_ORIGINS`. */
export function readOrigins (text: string): string[] {
  return text.split(',').map(part => {
    const url = readUrl(part.trim())
    if (url !== null && new URL(url).origin === url) return url
    throw new RangeError('must be origins such as http://10.0.0.5:9000, with commas between them')
  })
}

function readPlace (text: string): BlobStoreLocation {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) return { folder: text }
  const url = URL.parse(text)
  const bucket = url?.protocol === 's3:' && url.username === '' && url.password === '' ? url.host : ''
  const { endpoint = null, region = null, ...others } = Object.fromEntries(url?.searchParams ?? [])
  const base = endpoint === null ? null : readUrl(endpoint)
  const isWrong = !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket) || Object.keys(others).length > 0 ||
    (endpoint !== null && base === null)
  if (url === null || isWrong) {
    throw new RangeError('must be a folder, or s3://bucket/prefix, with ?endpoint=https://… for stores other than AWS, ' +
      '&region=…')
  }
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '')
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/`, endpoint: base, region }
}

/** Never repeated in a message. */
function readKey (text: string): string {
  const { least, most } = keyLength
  if (text.length >= least && text.length <= most) return text
  throw new RangeError(`must have ${least} to ${most} characters`)
}

function readDays (text: string): number {
  const days = Number(text)
  if (/^\d{1,4}(\.\d{1,6})?$/.test(text) && days > 0 && days <= maxKeepDays) return Math.round(days * dayMs)
  throw new RangeError(`must be days, above 0 and up to ${maxKeepDays}`)
}
