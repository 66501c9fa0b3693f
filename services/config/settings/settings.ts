import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { nanoFromUsd } from '../../shared/money.ts'
import { ConfigError } from '../config-error.ts'
import type { Problem } from '../config-error.ts'
import { readMediaSettings, readOrigins, readProxies } from './media-settings.ts'
import type { MediaSettings } from './media-settings.ts'
import { readUrl } from '../read-url.ts'
import type { Reader } from './reader.ts'

/** What the process needs to know before it reads the operator's file. */
export interface Settings {
  host: string
  port: number
  /** A second address to listen on. */
  alternative: { host: string, port: number } | null
  /** The operator's file; null when there is none. */
  configPath: string | null
  databaseUrl: string
  logLevel: LogLevel
  bodyLimitBytes: number
  /** How much memory answers may take that are kept to be given again; 0: none are. */
  cacheBytes: number
  /** How long running requests may take to end when the process is asked to stop. */
  drainMs: number
  /** How long requests are still taken after SIGTERM, so that load balancers can turn away. */
  drainDelayMs: number
  /** How long a node counts as ready while its database does not answer. */
  storeGraceMs: number
  /** Which part of the requests is kept in the database, and for how long. */
  requestLog: { sample: number, keepMs: number }
  /** Where traces are sent by OTLP over HTTP; null: nowhere. */
  tracesEndpoint: string | null
  /** How much this process takes on at the same time. */
  load: LoadLimits
  /** Where metrics are served without a key; null: only at `/metrics` with an admin key. */
  metricsAddress: { host: string, port: number } | null
  /** What the first account starts with. */
  startingCreditNano: number
  /** Whether to look for model servers on this machine. */
  discover: boolean
  /** Where clients reach the gateway, without a trailing slash; null when nobody said. */
  publicBaseUrl: string | null
  /** A key that opens the admin API besides those in the database; null when there is none. */
  adminKey: string | null
  /** Whose `X-Forwarded-…` headers are believed: addresses, networks, or names of kinds of networks. */
  trustedProxies: string[]
  /** Origins that results of providers may be fetched from although they are private or not encrypted. */
  trustedOrigins: string[]
  media: MediaSettings
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = typeof logLevels[number]

const defaultConfigName = 'gateway.yaml'
const maxSeconds = 3600
const dayMs = 86_400_000
const adminKeyLength = { least: 16, most: 256 }
const bodyLimit = { leastBytes: 1024, mostBytes: 1024 ** 3 }

/**
 * Reads the settings of the process from `env`; an empty variable counts as absent. `directory` is where the
 * default configuration file is looked for. Throws ConfigError with every problem found.
 */
export function readSettings (env: NodeJS.ProcessEnv, directory: string = process.cwd()): Settings {
  const reader = createReader(env)
  const host = reader.read('HOST', '127.0.0.1', (text) => text)
  const port = reader.read('PORT', 8080, readPort)
  const settings: Settings = {
    host,
    port,
    alternative: readAlternative(reader, host, port),
    configPath: reader.read('TOLLGATE_CONFIG', defaultPath(directory), (text) => text),
    databaseUrl: reader.read('DATABASE_URL', 'sqlite:./data/tollgate.db', readDatabaseUrl),
    logLevel: reader.read('LOG_LEVEL', 'info', readLogLevel),
    bodyLimitBytes: reader.read('TOLLGATE_BODY_LIMIT', 32 * 1024 ** 2, readBytes),
    cacheBytes: reader.read('TOLLGATE_CACHE_SIZE', 64 * 1024 ** 2, readCacheSize),
    drainMs: reader.read('TOLLGATE_DRAIN_SECONDS', 30_000, readSeconds),
    drainDelayMs: reader.read('TOLLGATE_DRAIN_DELAY_SECONDS', 0, readSeconds),
    storeGraceMs: reader.read('TOLLGATE_STORE_GRACE_SECONDS', 60_000, readSeconds),
    tracesEndpoint: reader.read('OTEL_EXPORTER_OTLP_ENDPOINT', null, readPublicUrl),
    requestLog: {
      sample: reader.read('TOLLGATE_REQUEST_LOG', 1, readPart),
      keepMs: reader.read('TOLLGATE_REQUEST_LOG_DAYS', 30, readCount) * dayMs
    },
    load: {
      requests: reader.read('TOLLGATE_MAX_REQUESTS', 20_000, readCount),
      streams: reader.read('TOLLGATE_MAX_STREAMS', 5000, readCount),
      polls: reader.read('TOLLGATE_MAX_POLLS', 15_000, readCount),
      lagMs: reader.read('TOLLGATE_MAX_LAG_MS', 1000, readCount)
    },
    metricsAddress: readMetricsAddress(reader, host),
    startingCreditNano: reader.read('TOLLGATE_STARTING_CREDIT', nanoFromUsd(10), readCredit),
    discover: reader.read('TOLLGATE_DISCOVER', true, readSwitch),
    publicBaseUrl: reader.read('PUBLIC_BASE_URL', null, readPublicUrl),
    adminKey: reader.read('TOLLGATE_ADMIN_KEY', null, readAdminKey),
    trustedProxies: reader.read('TOLLGATE_TRUST_PROXY', [], readProxies),
    trustedOrigins: reader.read('TOLLGATE_TRUSTED_ORIGINS', [], readOrigins),
    media: readMediaSettings(reader)
  }
  if (reader.problems.length > 0) throw new ConfigError('The environment', reader.problems)
  return settings
}

function createReader (env: NodeJS.ProcessEnv): Reader {
  const problems: Problem[] = []
  const textOf = (name: string) => env[name]?.trim() ?? ''
  function report (path: string, message: string) {
    problems.push({ path, line: null, column: null, message })
  }
  return {
    problems,
    report,
    isSet: (name) => textOf(name) !== '',
    read (name, otherwise, parse) {
      const text = textOf(name)
      try {
        return text === '' ? otherwise : parse(text)
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        report(name, error.message)
        return otherwise
      }
    }
  }
}

function readAlternative (reader: Reader, host: string, port: number): Settings['alternative'] {
  if (!reader.isSet('ALT_HOST') && !reader.isSet('ALT_PORT')) return null
  const known = reader.problems.length
  const alternative = {
    host: reader.read('ALT_HOST', host, (text) => text),
    port: reader.read('ALT_PORT', port, readPort)
  }
  const same = alternative.host === host && alternative.port === port && port !== 0
  if (same && reader.problems.length === known) {
    reader.report('ALT_PORT', 'must differ from PORT, or ALT_HOST from HOST')
  }
  return alternative
}

function readMetricsAddress (reader: Reader, host: string): Settings['metricsAddress'] {
  if (!reader.isSet('TOLLGATE_METRICS_PORT')) return null
  return {
    host: reader.read('TOLLGATE_METRICS_HOST', host, (text) => text),
    port: reader.read('TOLLGATE_METRICS_PORT', 0, readPort)
  }
}

function readPort (text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new RangeError('must be a port from 0 to 65535')
  return port
}

function defaultPath (directory: string): string | null {
  const path = join(directory, defaultConfigName)
  return existsSync(path) ? path : null
}

function readDatabaseUrl (text: string): string {
  if (!/^(sqlite:|postgres(ql)?:\/\/)./.test(text)) {
    throw new RangeError('must begin with sqlite:, postgres:// or postgresql://')
  }
  return text
}

function readLogLevel (text: string): LogLevel {
  const level = logLevels.find((name) => name === text.toLowerCase())
  if (level === undefined) throw new RangeError(`must be one of ${logLevels.join(', ')}`)
  return level
}

const unitBytes: Readonly<Record<string, number>> = {
  '': 1, b: 1, kb: 1000, mb: 1000 ** 2, gb: 1000 ** 3, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3
}

function readBytes (text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,15})\s*([a-z]*)$/i.exec(text) ?? []
  const bytes = digits === '' ? NaN : Number(digits) * (unitBytes[unit.toLowerCase()] ?? NaN)
  if (bytes >= bodyLimit.leastBytes && bytes <= bodyLimit.mostBytes) return bytes
  throw new RangeError('must be a number of bytes such as 1048576 or 32MiB, from 1KiB to 1GiB')
}

function readCacheSize (text: string): number {
  return /^off$/i.test(text) ? 0 : readBytes(text)
}

function readSeconds (text: string): number {
  const seconds = Number(text)
  if (/^\d{1,5}$/.test(text) && seconds <= maxSeconds) return seconds * 1000
  throw new RangeError(`must be whole seconds from 0 to ${maxSeconds}`)
}

function readPart (text: string): number {
  if (/^(on|off)$/i.test(text)) return readSwitch(text) ? 1 : 0
  const part = Number(text)
  if (/^[\d.]{1,10}$/.test(text) && part >= 0.0001 && part <= 1) return part
  throw new RangeError('must be on, off, or a part such as 0.1')
}

function readCount (text: string): number {
  const count = Number(text)
  if (/^\d{1,7}$/.test(text) && count >= 1) return count
  throw new RangeError('must be a whole number from 1 to 9999999')
}

function readCredit (text: string): number {
  const nano = nanoFromUsd(text)
  if (nano < 0) throw new RangeError('must not be below 0')
  return nano
}

function readSwitch (text: string): boolean {
  if (!/^(on|off)$/i.test(text)) throw new RangeError('must be on or off')
  return text.toLowerCase() === 'on'
}

function readPublicUrl (text: string): string {
  const url = readUrl(text)
  if (url === null) throw new RangeError('must be an http or https URL without a user name or password')
  return url
}

/** What a header can carry; never repeated in a message. */
function readAdminKey (text: string): string {
  const { least, most } = adminKeyLength
  if (/^[\x21-\x7e]+$/.test(text) && text.length >= least && text.length <= most) return text
  throw new RangeError(`must have ${least} to ${most} letters, digits and signs of ASCII, without spaces`)
}

/** How much this process takes on at the same time. */
export interface LoadLimits {
  requests: number
  streams: number
  polls: number
  /** How late the event loop may be, on average over half a second; ms. */
  lagMs: number
}
