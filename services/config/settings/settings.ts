import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { ConfigError, type Problem } from '../config-error.ts'
import * as parse from './parsers.ts'

/** An environment variable, as in the table of docs/settings.md. */
interface Variable<Value> {
  default: string | null
  shownDefault: string
  description: string
  parse: (text: string) => Value
  /** Whether an empty variable is an error; otherwise it counts as absent. */
  isEmptyWrong?: boolean
}

function variable<Value> (
  parse: (text: string) => Value, defaultText: string, description: string
): Variable<Value> {
  return { default: defaultText, shownDefault: `\`${defaultText}\``, description, parse }
}

/** A variable that is null by default; `absent` describes the default. */
function optional<Value> (
  parse: (text: string) => Value, absent: string, description: string
): Variable<Value | null> {
  return { default: null, shownDefault: absent, description, parse }
}

/** A secret; setting it to nothing is an error, because the operator expects it to protect something. */
function secret<Value> (parse: (text: string) => Value, description: string): Variable<Value | null> {
  return { ...optional(parse, 'none', description), isEmptyWrong: true }
}

/** All settings of the process, in the order of docs/settings.md. */
export const variables = {
  HOST: variable(parse.text, '127.0.0.1', 'address to listen on'),
  PORT: variable(parse.port, '8080', 'port to listen on'),
  ALT_HOST: optional(parse.text, '`HOST`', 'address of a second listener, if `ALT_PORT` or this is set'),
  ALT_PORT: optional(parse.port, '`PORT`', 'port of that listener'),
  TOLLGATE_WORKERS: variable(parse.workers, '1', 'processes that serve requests on these ports, each on its own core: ' +
    'a number, or `auto` for one per core; see [many cores](many-nodes.md#many-cores)'),
  TOLLGATE_CONFIG: optional(parse.text, '`gateway.yaml` if it exists', 'configuration file'),
  DATABASE_URL: variable(parse.databaseUrl, 'sqlite:./data/tollgate.db',
    'database of keys, accounts and jobs: `sqlite:<file>` or `postgres://…`'),
  TOLLGATE_STARTING_CREDIT: variable(parse.nanoUsd, '10', 'credit of the first account in USD'),
  TOLLGATE_ADMIN_KEY: secret(parse.adminKey, 'admin key in addition to those in the database'),
  TOLLGATE_SECRET_KEY: secret(parse.secretKey, 'key that encrypts [the secrets in the database](secrets.md), ' +
    'so that a copy of it reveals none: 32 characters or more'),
  TOLLGATE_SECRET_KEY_PREVIOUS: secret(parse.secretKey, 'another such key, which only decrypts: the previous or the next one'),
  TOLLGATE_BODY_LIMIT: variable(parse.bytes, '32MiB', 'largest request body, decompressed; text completions and ' +
    'images take at most 8 MiB, other requests without messages 1 MiB'),
  TOLLGATE_BODY_BUDGET: optional(parse.manyBytes, 'an eighth of the heap', 'bytes of request bodies that a node holds at the same ' +
    'time; further ones get 503 with `retry-after`'),
  TOLLGATE_CACHE_SIZE: variable(parse.bytesOrOff, '64MiB', 'memory for [cached responses](cache.md); `off` disables them'),
  TOLLGATE_DRAIN_SECONDS: variable(parse.seconds, '30', 'time for running requests and held videos to end after SIGTERM'),
  TOLLGATE_DRAIN_DELAY_SECONDS: variable(parse.seconds, '0', 'time after SIGTERM during which new requests are still ' +
    'accepted while `/readyz` returns 503, so that load balancers can notice'),
  TOLLGATE_STORE_GRACE_SECONDS: variable(parse.seconds, '60', 'time that a node stays ready without its database'),
  TOLLGATE_MAX_REQUESTS: variable(parse.positiveInteger, '20000',
    'concurrent requests of a node; further ones get 503 with `retry-after`'),
  TOLLGATE_MAX_CONNECTIONS: variable(parse.positiveInteger, '25000', 'concurrent connections of each listener; further ' +
    'ones are closed'),
  TOLLGATE_MAX_STREAMS: variable(parse.positiveInteger, '5000', 'most concurrent streams among them'),
  TOLLGATE_MAX_POLLS: variable(parse.positiveInteger, '15000', 'most requests among them that wait for videos'),
  TOLLGATE_MAX_LAG_MS: variable(parse.positiveInteger, '1000',
    'event loop delay, averaged over half a second, above which new requests get 503'),
  TOLLGATE_BILLING_RPM: variable(parse.positiveInteger, '60',
    'requests per minute for the balance and usage of a key, separate from its other limits'),
  TOLLGATE_REQUEST_LOG: variable(parse.samplingRate, 'on', 'requests recorded in the database for ' +
    '`GET /admin/requests`: `on`, `off`, or a share such as `0.1`; failed ones always unless `off`'),
  TOLLGATE_REQUEST_LOG_DAYS: variable(parse.wholeDays, '30', 'retention of these records'),
  TOLLGATE_RESPONSES_DAYS: variable(parse.wholeDaysOrOff, '30', 'retention of [stored responses](responses.md#stored-responses); ' +
    '`off` stores none'),
  TOLLGATE_RESPONSES_SIZE: variable(parse.manyBytes, '1GiB', 'stored responses of an account; its oldest are deleted for new ones'),
  TOLLGATE_PROVIDER_WORDS: variable(parse.onOff, 'on', 'providers\' error messages, redacted, in the log, traces ' +
    'and `GET /admin/requests`: `on` or `off`; they may repeat parts of a prompt'),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(parse.url, 'none', 'OpenTelemetry collector, e.g. `http://localhost:4318`. ' +
    'Each request for text, images or a video is a trace with GenAI attributes but without the prompt. It continues ' +
    "the caller's `traceparent`, which is not forwarded to providers: [Tracing](tracing.md)"),
  OTEL_EXPORTER_OTLP_HEADERS: optional(parse.headers, 'none', 'headers for the collector, e.g. `Authorization=Basic …`'),
  OTEL_SERVICE_NAME: optional(parse.text, '`tollgate`', '`service.name` of the traces'),
  OTEL_RESOURCE_ATTRIBUTES: optional(parse.text, 'none', 'further attributes of all traces, `key=value,…`, ' +
    'percent-encoded; if invalid, all are ignored with a warning'),
  OTEL_SEMCONV_STABILITY_OPT_IN: optional(parse.names, 'none', 'with `gen_ai_latest_experimental`, traces also have ' +
    'the GenAI attributes that are newer than version 1.37 of the conventions'),
  TOLLGATE_METRICS_PORT: optional(parse.port, 'none', 'port that serves `/metrics` without a key'),
  TOLLGATE_METRICS_HOST: optional(parse.text, '`HOST`', 'address of that port'),
  TOLLGATE_METRICS_ACCOUNTS: variable(parse.naturalNumber, '0', 'most accounts with [separate metrics](metrics.md); ' +
    'further ones are counted together as `other`'),
  TOLLGATE_METRICS_KEYS: variable(parse.naturalNumber, '0', 'the same for keys'),
  TOLLGATE_CATALOGUE_URL: optional(parse.url, 'that of `gateway.yaml`', '[catalogue of prices](prices.md#the-catalogue) that is ' +
    'read once a day, with its SHA-256 at the same URL with `.sha256`'),
  TOLLGATE_DISCOVER: variable(parse.onOff, 'on', 'look for model servers on this machine: `on` or `off`'),
  PUBLIC_BASE_URL: optional(parse.url, 'from each request', "the gateway's public URL, used in URLs of media"),
  TOLLGATE_CORS_ORIGINS: optional(parse.corsOrigins, 'none', 'origins of [browser apps](api.md#browser-apps) that may call the ' +
    'API, e.g. `https://app.example.com`, or `*`'),
  TOLLGATE_TRUST_PROXY: optional(parse.proxies, 'none',
    'proxies whose `X-Forwarded-*` headers are trusted, e.g. `loopback,10.0.0.0/8`'),
  TOLLGATE_TRUSTED_ORIGINS: optional(parse.origins, 'none', "private or unencrypted servers from which providers' " +
    'results may be fetched, e.g. `http://10.0.0.5:9000`'),
  TOLLGATE_WEBHOOK_ORIGINS: optional(parse.origins, 'none', 'private or unencrypted servers that [webhooks of clients]' +
    '(videos.md#webhooks) may name, e.g. `http://10.0.0.7:8000`'),
  TOLLGATE_MEDIA: variable(parse.mediaPlace, './data/media',
    'storage of images and videos: a folder or `s3://bucket/prefix`'),
  TOLLGATE_MEDIA_DAYS: variable(parse.days, '7', 'retention of images and videos, and validity of their URLs'),
  TOLLGATE_MEDIA_KEY: optional(parse.signingKey, 'generated, in the database', 'key that signs these URLs'),
  TOLLGATE_MEDIA_KEY_PREVIOUS: optional(parse.signingKey, 'none', 'previous signing key, whose URLs stay valid'),
  LOG_LEVEL: variable(parse.logLevel, 'info', 'lowest level to log, from `trace` to `fatal`, or `silent`; one JSON ' +
    'line per request, never with prompts or keys')
}

/** The longest contexts have a few million tokens. */
const maxTextBytes = 8 * 1024 ** 2
const maxFieldBytes = 1024 ** 2

type Variables = typeof variables
type Values = { [Name in keyof Variables]: ReturnType<Variables[Name]['parse']> }

/** The settings of the process, which it needs before it reads the configuration file. */
export type Settings = ReturnType<typeof readSettings>
/** The load that this process accepts at once; `lagMs` is the event loop delay. */
export type LoadLimits = Settings['load']
/** Storage of images and videos, their retention, and the keys that sign their URLs. */
export type MediaSettings = Settings['media']
/** The collector of traces and their attributes; headers may be secret. */
export type TracesSettings = NonNullable<Settings['traces']>
/** Numbers of accounts and keys with separate metrics; 0 for none. */
export type MetricsLabels = Settings['metricsLabels']
type Address = { host: string, port: number } | null

/**
 * Reads the settings from `env`; an empty variable counts as absent. The configuration file is looked for in
 * `directory`. Throws ConfigError with every problem.
 * One function, because it is a flat table of settings.
 */
export function readSettings (env: NodeJS.ProcessEnv, directory: string = process.cwd()) {
  const problems: Problem[] = []
  const report = (path: string, message: string) => {
    problems.push({ path, line: null, column: null, message })
  }
  const values = readVariables(env, report)
  const { HOST: host, PORT: port } = values
  const alternative: Address = values.ALT_HOST === null && values.ALT_PORT === null
    ? null
    : { host: values.ALT_HOST ?? host, port: values.ALT_PORT ?? port }
  const isRead = !problems.some(({ path }) => path === 'PORT' || path === 'ALT_PORT')
  if (isRead && port !== 0 && alternative?.host === host && alternative.port === port) {
    report('ALT_PORT', 'must differ from PORT, or ALT_HOST from HOST')
  }
  if (values.TOLLGATE_WORKERS > 1 && /^sqlite:(\/\/)?:memory:$/i.test(values.DATABASE_URL)) {
    report('TOLLGATE_WORKERS', 'must be 1 with a database in memory, which processes cannot share')
  }
  const metricsAddress: Address = values.TOLLGATE_METRICS_PORT === null
    ? null
    : { host: values.TOLLGATE_METRICS_HOST ?? host, port: values.TOLLGATE_METRICS_PORT }
  if (problems.length > 0) throw new ConfigError('The environment', problems)
  return {
    host,
    port,
    alternative,
    /** How many processes serve requests. */
    workers: values.TOLLGATE_WORKERS,
    configPath: values.TOLLGATE_CONFIG ?? defaultPath(directory),
    databaseUrl: values.DATABASE_URL,
    logLevel: values.LOG_LEVEL,
    bodyLimits: {
      media: values.TOLLGATE_BODY_LIMIT,
      text: Math.min(values.TOLLGATE_BODY_LIMIT, maxTextBytes),
      fields: Math.min(values.TOLLGATE_BODY_LIMIT, maxFieldBytes)
    },
    maxConnections: values.TOLLGATE_MAX_CONNECTIONS,
    corsOrigins: values.TOLLGATE_CORS_ORIGINS ?? [],
    /** 0 disables the cache. */
    cacheBytes: values.TOLLGATE_CACHE_SIZE,
    drainMs: values.TOLLGATE_DRAIN_SECONDS,
    drainDelayMs: values.TOLLGATE_DRAIN_DELAY_SECONDS,
    storeGraceMs: values.TOLLGATE_STORE_GRACE_SECONDS,
    /** Null disables traces. */
    traces: values.OTEL_EXPORTER_OTLP_ENDPOINT === null
      ? null
      : {
          endpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
          headers: values.OTEL_EXPORTER_OTLP_HEADERS ?? {},
          serviceName: values.OTEL_SERVICE_NAME,
          resourceAttributes: values.OTEL_RESOURCE_ATTRIBUTES,
          isLatest: values.OTEL_SEMCONV_STABILITY_OPT_IN?.includes('gen_ai_latest_experimental') === true
        },
    billingPerMinute: values.TOLLGATE_BILLING_RPM,
    requestLog: { sample: values.TOLLGATE_REQUEST_LOG, keepMs: values.TOLLGATE_REQUEST_LOG_DAYS },
    /** `keepMs` 0 stores none. */
    responses: { keepMs: values.TOLLGATE_RESPONSES_DAYS, accountBytes: values.TOLLGATE_RESPONSES_SIZE },
    providerWords: values.TOLLGATE_PROVIDER_WORDS,
    load: {
      requests: values.TOLLGATE_MAX_REQUESTS,
      streams: values.TOLLGATE_MAX_STREAMS,
      polls: values.TOLLGATE_MAX_POLLS,
      bytes: values.TOLLGATE_BODY_BUDGET ?? Math.floor(getHeapStatistics().heap_size_limit / 8),
      lagMs: values.TOLLGATE_MAX_LAG_MS
    },
    metricsAddress,
    metricsLabels: { accounts: values.TOLLGATE_METRICS_ACCOUNTS, keys: values.TOLLGATE_METRICS_KEYS },
    startingCreditNano: values.TOLLGATE_STARTING_CREDIT,
    discover: values.TOLLGATE_DISCOVER,
    /** Null: that of gateway.yaml. */
    catalogueUrl: values.TOLLGATE_CATALOGUE_URL,
    publicBaseUrl: values.PUBLIC_BASE_URL,
    adminKey: values.TOLLGATE_ADMIN_KEY,
    secretKeys: { current: values.TOLLGATE_SECRET_KEY, previous: values.TOLLGATE_SECRET_KEY_PREVIOUS },
    trustedProxies: values.TOLLGATE_TRUST_PROXY ?? [],
    trustedOrigins: values.TOLLGATE_TRUSTED_ORIGINS ?? [],
    webhookOrigins: values.TOLLGATE_WEBHOOK_ORIGINS ?? [],
    media: {
      location: values.TOLLGATE_MEDIA,
      /** Null selects the key in the database, which all nodes share. */
      signingKey: values.TOLLGATE_MEDIA_KEY,
      previousSigningKey: values.TOLLGATE_MEDIA_KEY_PREVIOUS,
      retentionMs: values.TOLLGATE_MEDIA_DAYS
    }
  }
}

function readVariables (env: NodeJS.ProcessEnv, report: (name: string, message: string) => void): Values
function readVariables (env: NodeJS.ProcessEnv, report: (name: string, message: string) => void): unknown {
  const all = Object.entries<Variable<unknown>>(variables)
  return Object.fromEntries(all.map(([name, { default: value, parse, isEmptyWrong }]) => {
    const given = env[name]?.trim()
    const text = isEmptyWrong === true ? given ?? value : given || value
    try {
      return [name, text === null ? null : parse(text)]
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      report(name, error.message)
      return [name, null]
    }
  }))
}

function defaultPath (directory: string): string | null {
  const path = join(directory, 'gateway.yaml')
  return existsSync(path) ? path : null
}
