import { availableParallelism } from 'node:os'
import ipaddr from 'ipaddr.js'
import type { BlobStoreLocation } from '../../media/blob-store.ts'
import { nanoFromUsd } from '../../shared/money.ts'
import { notUrl, readUrl } from '../read-url.ts'

/*
 * Parsers of environment variables. Each takes the trimmed text, which is not empty, and throws a RangeError
 * whose message completes "<NAME> …" without quoting a secret.
 */

const dayMs = 86_400_000

export const text = (text: string): string => text

/** Parses a TCP port; 0 lets the system choose. */
export function port (text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new RangeError('must be a port from 0 to 65535')
}

const maxWorkers = 256
/** Systems on which processes can share a port; source: https://nodejs.org/api/net.html (`reusePort`). */
const portSharers = ['linux', 'freebsd', 'sunos', 'aix']

/** Parses a number of processes; `auto` is one per core available to this process. */
export function workers (text: string, { platform }: Pick<NodeJS.Process, 'platform'> = process): number {
  const isAuto = text.toLowerCase() === 'auto'
  const count = isAuto ? Math.min(availableParallelism(), maxWorkers) : Number(text)
  if (!isAuto && (!/^\d{1,3}$/.test(text) || count < 1 || count > maxWorkers)) {
    throw new RangeError(`must be auto or a whole number from 1 to ${maxWorkers}`)
  }
  if (count === 1 || portSharers.includes(platform)) return count
  throw new RangeError(`must be 1 on ${platform}, where processes cannot share a port`)
}

/** Parses the URL of a database. */
export function databaseUrl (text: string): string {
  if (/^(sqlite:|postgres(ql)?:\/\/)./.test(text)) return text
  throw new RangeError('must start with sqlite:, postgres:// or postgresql://')
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = typeof logLevels[number]

/** Parses the name of a log level, in any case. */
export function logLevel (text: string): LogLevel {
  const level = logLevels.find((name) => name === text.toLowerCase())
  if (level === undefined) throw new RangeError(`must be one of ${logLevels.join(', ')}`)
  return level
}

const unitBytes: Readonly<Record<string, number>> = {
  '': 1, b: 1, kb: 1000, mb: 1000 ** 2, gb: 1000 ** 3, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3
}

/** Parses a size such as `1048576` or `32MiB` into bytes. */
export function bytes (text: string): number {
  return sizeUpTo(1, text)
}

/** The same for totals, up to 1 TiB. */
export function manyBytes (text: string): number {
  return sizeUpTo(1024, text)
}

function sizeUpTo (maxGiB: number, text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,15})\s*([a-z]*)$/i.exec(text) ?? []
  const bytes = digits === '' ? NaN : Number(digits) * (unitBytes[unit.toLowerCase()] ?? NaN)
  if (bytes >= 1024 && bytes <= maxGiB * 1024 ** 3) return bytes
  throw new RangeError(`must be a number of bytes such as 1048576 or 32MiB, from 1KiB to ${maxGiB}GiB`)
}

/** Parses a size into bytes; `off` is 0. */
export function bytesOrOff (text: string): number {
  return /^off$/i.test(text) ? 0 : bytes(text)
}

/** Parses whole seconds, at most an hour, into milliseconds. */
export function seconds (text: string): number {
  const seconds = Number(text)
  if (/^\d{1,5}$/.test(text) && seconds <= 3600) return seconds * 1000
  throw new RangeError('must be whole seconds from 0 to 3600')
}

/** Parses days, at most ten years, into milliseconds. */
export function days (text: string): number {
  const days = Number(text)
  if (/^\d{1,4}(\.\d{1,6})?$/.test(text) && days > 0 && days <= 3650) return Math.round(days * dayMs)
  throw new RangeError('must be a number of days above 0 and up to 3650')
}

/** Parses whole days into milliseconds. */
export function wholeDays (text: string): number {
  return positiveInteger(text) * dayMs
}

/** The same; `off` is 0. */
export function wholeDaysOrOff (text: string): number {
  return /^off$/i.test(text) ? 0 : wholeDays(text)
}

/** Parses a whole number from 1. */
export function positiveInteger (text: string): number {
  const count = Number(text)
  if (/^\d{1,7}$/.test(text) && count >= 1) return count
  throw new RangeError('must be a whole number from 1 to 9999999')
}

/** Parses a whole number from 0 to 9,999. */
export function naturalNumber (text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text)
  throw new RangeError('must be a whole number from 0 to 9999')
}

/** Parses `on` or `off`. */
export function onOff (text: string): boolean {
  if (/^(on|off)$/i.test(text)) return text.toLowerCase() === 'on'
  throw new RangeError('must be on or off')
}

/** Parses a sampling rate: `on` is 1, `off` is 0. */
export function samplingRate (text: string): number {
  if (/^(on|off)$/i.test(text)) return onOff(text) ? 1 : 0
  const rate = Number(text)
  if (/^[\d.]{1,10}$/.test(text) && rate >= 0.0001 && rate <= 1) return rate
  throw new RangeError('must be on, off, or a share such as 0.1')
}

/** Parses an amount in USD into nano-USD. */
export function nanoUsd (text: string): number {
  const nano = nanoFromUsd(text)
  if (nano < 0) throw new RangeError('must not be below 0')
  return nano
}

/** Parses an http or https URL; the result has no trailing slash. */
export function url (text: string): string {
  const url = readUrl(text)
  if (url === null) throw new RangeError(notUrl)
  return url
}

/** Parses an API key that a header can carry. */
export function adminKey (text: string): string {
  if (/^[\x21-\x7e]{16,256}$/.test(text)) return text
  throw new RangeError('must be 16–256 printable ASCII characters without spaces')
}

/** Parses a signing key. */
export function signingKey (text: string): string {
  if (text.length >= 16 && text.length <= 1024) return text
  throw new RangeError('must have 16–1024 characters')
}

/** Parses a key that encrypts. */
export function secretKey (text: string): string {
  if (text.length >= 32 && text.length <= 1024) return text
  throw new RangeError('must have 32–1024 characters, e.g. what `openssl rand -base64 32` prints')
}

/** Parses a list of proxies: addresses, networks, or names of kinds of networks. */
export function proxies (text: string): string[] {
  const proxies = list(text)
  const isKnown = (proxy: string) => /^(loopback|linklocal|uniquelocal)$/.test(proxy) ||
    ipaddr.isValid(proxy) || ipaddr.isValidCIDR(proxy)
  if (proxies.every(isKnown)) return proxies
  throw new RangeError('must be a comma-separated list of addresses, networks such as 10.0.0.0/8, loopback, ' +
    'linklocal or uniquelocal')
}

/** Parses a list of origins. */
export function origins (text: string): string[] {
  return list(text).map((part) => {
    const url = readUrl(part)
    if (url !== null && new URL(url).origin === url) return url
    throw new RangeError('must be a comma-separated list of origins such as http://10.0.0.5:9000')
  })
}

/** Parses a list of origins of browser apps, or `*`, which stands for every one. */
export function corsOrigins (text: string): string[] {
  return text === '*' ? ['*'] : origins(text)
}

/** Parses a list of words; unknown words have no effect. */
export function names (text: string): string[] {
  return list(text)
}

/** Parses headers as `name=value,name=value`, percent-encoded; a value may have `=`, as base64 does. */
export function headers (text: string): Record<string, string> {
  const pairs = list(text).filter(part => part !== '').map(part => {
    const [, name = '', encoded = ''] = /^([\w!#$%&'*+.^`|~-]+)\s*=(.*)$/.exec(part) ?? []
    const value = decoded(encoded.trim())
    if (name !== '' && /^[\x20-\x7e]+$/.test(value)) return [name, value] as const
    throw new RangeError('must be a comma-separated list of name=value with percent-encoded values')
  })
  return Object.fromEntries(pairs)
}

/** Empty if it cannot be decoded. */
function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

function list (text: string): string[] {
  return text.split(',').map((part) => part.trim())
}

/** Parses a folder, or `s3://bucket/prefix?endpoint=…&region=…`. */
export function mediaPlace (text: string): BlobStoreLocation {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) return { folder: text }
  const url = URL.parse(text)
  const bucket = url?.protocol === 's3:' && url.username === '' && url.password === '' ? url.host : ''
  const { endpoint = null, region = null, ...others } = Object.fromEntries(url?.searchParams ?? [])
  const base = endpoint === null ? null : readUrl(endpoint)
  const isWrong = !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket) || Object.keys(others).length > 0 ||
    (endpoint !== null && base === null)
  if (url === null || isWrong) {
    throw new RangeError('must be a folder, or s3://bucket/prefix with ?endpoint=https://… for stores other than AWS ' +
      'and &region=…')
  }
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '')
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/`, endpoint: base, region }
}
