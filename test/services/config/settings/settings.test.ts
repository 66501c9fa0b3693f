import { join } from 'node:path'
import { availableParallelism } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import t from 'tap'
import { workers as parseWorkers } from '../../../../services/config/settings/parsers.ts'
import { ConfigError } from '../../../../services/config/config-error.ts'
import { readSettings } from '../../../../services/config/settings/settings.ts'

t.test('every setting has a default', async (t) => {
  t.same(readSettings({ PORT: '', LOG_LEVEL: ' ' }, t.testdir()), {
    host: '127.0.0.1',
    port: 8080,
    workers: 1,
    alternative: null,
    configPath: null,
    responses: { keepMs: 2_592_000_000, accountBytes: 1024 ** 3 },
    databaseUrl: 'sqlite:./data/tollgate.db',
    logLevel: 'info',
    bodyLimits: { media: 33_554_432, text: 8_388_608, fields: 1_048_576 },
    maxConnections: 25_000,
    corsOrigins: [],
    cacheBytes: 64 * 1024 ** 2,
    drainMs: 30_000,
    drainDelayMs: 0,
    storeGraceMs: 60_000,
    traces: null,
    billingPerMinute: 60,
    requestLog: { sample: 1, keepMs: 2_592_000_000 },
    providerWords: true,
    load: {
      requests: 20_000,
      streams: 5000,
      polls: 15_000,
      bytes: Math.floor(getHeapStatistics().heap_size_limit / 8),
      lagMs: 1000
    },
    metricsAddress: null,
    metricsLabels: { accounts: 0, keys: 0 },
    startingCreditNano: 10_000_000_000,
    discover: true,
    catalogueUrl: null,
    publicBaseUrl: null,
    adminKey: null,
    secretKeys: { current: null, previous: null },
    trustedProxies: [],
    trustedOrigins: [],
    webhookOrigins: [],
    media: { location: { folder: './data/media' }, signingKey: null, previousSigningKey: null, retentionMs: 604_800_000 }
  })
})

t.test('every setting can be set', async (t) => {
  const env = {
    HOST: '0.0.0.0',
    PORT: '0',
    TOLLGATE_WORKERS: '3',
    ALT_HOST: '::1',
    ALT_PORT: '81',
    TOLLGATE_CONFIG: 'my.yaml',
    DATABASE_URL: 'postgres://u:p@h/d',
    LOG_LEVEL: 'WARN',
    TOLLGATE_BODY_LIMIT: '2 MiB',
    TOLLGATE_BODY_BUDGET: '2GiB',
    TOLLGATE_MAX_CONNECTIONS: '100',
    TOLLGATE_CORS_ORIGINS: 'https://app.example.com, http://localhost:5173',
    TOLLGATE_CACHE_SIZE: 'off',
    TOLLGATE_DRAIN_SECONDS: '5',
    TOLLGATE_DRAIN_DELAY_SECONDS: '6',
    TOLLGATE_STORE_GRACE_SECONDS: '90',
    TOLLGATE_BILLING_RPM: '5',
    TOLLGATE_REQUEST_LOG: '0.1',
    TOLLGATE_REQUEST_LOG_DAYS: '7',
    TOLLGATE_RESPONSES_DAYS: '2',
    TOLLGATE_RESPONSES_SIZE: '2 GiB',
    TOLLGATE_PROVIDER_WORDS: 'off',
    TOLLGATE_MAX_REQUESTS: '4',
    TOLLGATE_MAX_STREAMS: '3',
    TOLLGATE_MAX_POLLS: '2',
    TOLLGATE_MAX_LAG_MS: '500',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318/',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic cGs6c2s=, x-team=a%20b',
    OTEL_SERVICE_NAME: 'gate',
    OTEL_RESOURCE_ATTRIBUTES: 'team=a',
    OTEL_SEMCONV_STABILITY_OPT_IN: 'http/dup, gen_ai_latest_experimental',
    TOLLGATE_METRICS_ACCOUNTS: '100',
    TOLLGATE_METRICS_KEYS: '200',
    TOLLGATE_METRICS_PORT: '9464',
    TOLLGATE_STARTING_CREDIT: '0.000000001',
    TOLLGATE_DISCOVER: 'off',
    TOLLGATE_CATALOGUE_URL: 'https://prices.example.com/models.json',
    PUBLIC_BASE_URL: 'https://gw.example.com/',
    TOLLGATE_ADMIN_KEY: 'a-key-of-16-char',
    TOLLGATE_SECRET_KEY: 'the second key, of 32 characters',
    TOLLGATE_SECRET_KEY_PREVIOUS: 'the first key, of 32 characters.',
    TOLLGATE_TRUST_PROXY: 'loopback, 10.0.0.0/8,fd00::1',
    TOLLGATE_TRUSTED_ORIGINS: 'http://10.0.0.5:9000, https://images.internal/',
    TOLLGATE_WEBHOOK_ORIGINS: 'http://10.0.0.7:8000',
    TOLLGATE_MEDIA: '/srv/media',
    TOLLGATE_MEDIA_KEY: 'the-second-signing-key',
    TOLLGATE_MEDIA_KEY_PREVIOUS: 'the-first-signing-key',
    TOLLGATE_MEDIA_DAYS: '0.5'
  }
  t.same(readSettings(env), {
    host: '0.0.0.0',
    port: 0,
    workers: 3,
    alternative: { host: '::1', port: 81 },
    configPath: 'my.yaml',
    databaseUrl: 'postgres://u:p@h/d',
    logLevel: 'warn',
    bodyLimits: { media: 2_097_152, text: 2_097_152, fields: 1_048_576 },
    maxConnections: 100,
    corsOrigins: ['https://app.example.com', 'http://localhost:5173'],
    cacheBytes: 0,
    drainMs: 5000,
    drainDelayMs: 6_000,
    storeGraceMs: 90_000,
    traces: {
      endpoint: 'http://localhost:4318',
      headers: { Authorization: 'Basic cGs6c2s=', 'x-team': 'a b' },
      serviceName: 'gate',
      resourceAttributes: 'team=a',
      isLatest: true
    },
    billingPerMinute: 5,
    requestLog: { sample: 0.1, keepMs: 604_800_000 },
    responses: { keepMs: 172_800_000, accountBytes: 2 * 1024 ** 3 },
    providerWords: false,
    load: { requests: 4, streams: 3, polls: 2, bytes: 2_147_483_648, lagMs: 500 },
    metricsAddress: { host: '0.0.0.0', port: 9464 },
    metricsLabels: { accounts: 100, keys: 200 },
    startingCreditNano: 1,
    discover: false,
    catalogueUrl: 'https://prices.example.com/models.json',
    publicBaseUrl: 'https://gw.example.com',
    adminKey: 'a-key-of-16-char',
    secretKeys: { current: 'the second key, of 32 characters', previous: 'the first key, of 32 characters.' },
    trustedProxies: ['loopback', '10.0.0.0/8', 'fd00::1'],
    trustedOrigins: ['http://10.0.0.5:9000', 'https://images.internal'],
    webhookOrigins: ['http://10.0.0.7:8000'],
    media: {
      location: { folder: '/srv/media' },
      signingKey: 'the-second-signing-key',
      previousSigningKey: 'the-first-signing-key',
      retentionMs: 43_200_000
    }
  })
})

t.test('gateway.yaml is used where it exists', async (t) => {
  const directory = t.testdir({ 'gateway.yaml': '' })
  t.equal(readSettings({}, directory).configPath, join(directory, 'gateway.yaml'))
})

t.test('the second address may have only a host or only a port of its own', async (t) => {
  t.same(readSettings({ ALT_PORT: '81' }).alternative, { host: '127.0.0.1', port: 81 })
  t.same(readSettings({ ALT_HOST: '::1' }).alternative, { host: '::1', port: 8080 })
  t.throws(() => readSettings({ ALT_PORT: '8080' }), /ALT_PORT: must differ/)
  t.throws(() => readSettings({ ALT_PORT: '8080', LOG_LEVEL: 'loud' }), /ALT_PORT: must differ/, 'beside another problem')
})

t.test('a node has one worker, a given number, or one for each core', async (t) => {
  t.equal(readSettings({ TOLLGATE_WORKERS: '4' }).workers, 4)
  t.equal(readSettings({ TOLLGATE_WORKERS: 'auto' }).workers, availableParallelism())
  for (const text of ['0', '1.5', '-1', '257', 'all']) {
    t.throws(() => readSettings({ TOLLGATE_WORKERS: text }), /TOLLGATE_WORKERS: must be auto or a whole number from 1 to 256/)
  }
  const memory = { DATABASE_URL: 'sqlite::memory:' }
  t.throws(() => readSettings({ ...memory, TOLLGATE_WORKERS: '2' }), /TOLLGATE_WORKERS: must be 1 with a database in memory/)
  t.equal(readSettings({ ...memory, TOLLGATE_WORKERS: '1' }).workers, 1)
  t.equal(parseWorkers('1', { platform: 'darwin' }), 1)
  t.throws(() => parseWorkers('2', { platform: 'darwin' }), /must be 1 on darwin/)
})

t.test('the metrics port listens at the host of the gateway unless it has its own', async (t) => {
  const env = { TOLLGATE_METRICS_PORT: '9464', TOLLGATE_METRICS_HOST: '::1' }
  t.same(readSettings(env).metricsAddress, { host: '::1', port: 9464 })
  t.equal(readSettings({ TOLLGATE_METRICS_HOST: '::1' }).metricsAddress, null)
})

t.test('sizes are bytes or have a unit', async (t) => {
  const sizes = { 2048: 2048, '64kb': 64_000, '64KiB': 65_536, '1GiB': 1_073_741_824, '3MB': 3_000_000 }
  for (const [text, bytes] of Object.entries(sizes)) {
    t.equal(readSettings({ TOLLGATE_BODY_LIMIT: text }).bodyLimits.media, bytes, text)
  }
})

t.test('media are stored in a folder, or in a bucket with a prefix, at AWS or elsewhere', async (t) => {
  const locations = {
    './m': { folder: './m' },
    'C:\\media': { folder: 'C:\\media' },
    's3://my.bucket': { bucket: 'my.bucket', prefix: '', endpoint: null, region: null },
    's3://bucket/a/b/?region=eu-central-1': { bucket: 'bucket', prefix: 'a/b/', endpoint: null, region: 'eu-central-1' },
    's3://bucket?endpoint=https://minio.internal:9000': {
      bucket: 'bucket', prefix: '', endpoint: 'https://minio.internal:9000', region: null
    }
  }
  for (const [text, location] of Object.entries(locations)) {
    t.same(readSettings({ TOLLGATE_MEDIA: text }).media.location, location, text)
  }
  for (const text of ['s3://', 's3://u:p@bucket', 's3://B', 's3://bucket?endpoint=minio', 's3://bucket?key=x', 'gs://bucket']) {
    t.throws(() => readSettings({ TOLLGATE_MEDIA: text }), /TOLLGATE_MEDIA: must be a folder, or s3:/, text)
  }
})

t.test('every problem is listed at once, without passwords', async (t) => {
  const bad = {
    PORT: '65536',
    ALT_PORT: 'http',
    DATABASE_URL: 'mysql://u:sk-secret@h',
    TOLLGATE_STARTING_CREDIT: '-0.5',
    TOLLGATE_ADMIN_KEY: 'sk-secret but with spaces',
    TOLLGATE_SECRET_KEY: 'sk-secret but short',
    TOLLGATE_SECRET_KEY_PREVIOUS: 'sk-secret but short',
    TOLLGATE_BODY_LIMIT: '32 bananas',
    TOLLGATE_DRAIN_SECONDS: '-1',
    TOLLGATE_DISCOVER: 'maybe',
    PUBLIC_BASE_URL: 'https://u:sk-secret@h',
    TOLLGATE_TRUST_PROXY: 'everybody',
    TOLLGATE_TRUSTED_ORIGINS: 'http://10.0.0.5/path',
    TOLLGATE_WEBHOOK_ORIGINS: 'http://10.0.0.5/path',
    TOLLGATE_MEDIA: 'ftp://u:sk-secret@h/media',
    TOLLGATE_MEDIA_DAYS: '0',
    TOLLGATE_MEDIA_KEY: 'sk-secret',
    TOLLGATE_MEDIA_KEY_PREVIOUS: 'sk-secret',
    LOG_LEVEL: 'loud'
  }
  try {
    readSettings(bad)
    t.fail('must throw')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    t.same(error.problems.map(({ path }) => path), Object.keys(bad))
    t.notMatch(error.message, 'sk-secret')
  }
})

t.test('a value out of range is rejected', async (t) => {
  const env = [
    { TOLLGATE_BODY_LIMIT: '1023' }, { TOLLGATE_BODY_LIMIT: '2GiB' }, { TOLLGATE_DRAIN_SECONDS: '3601' },
    { TOLLGATE_STARTING_CREDIT: '0.0000000001' }, { TOLLGATE_STARTING_CREDIT: 'ten' },
    { TOLLGATE_MEDIA_DAYS: '3651' }, { TOLLGATE_MEDIA_DAYS: 'x' }, { TOLLGATE_TRUST_PROXY: '10.0.0.0/33' },
    { TOLLGATE_ADMIN_KEY: 'too-short' }, { TOLLGATE_ADMIN_KEY: 'x'.repeat(257) }
  ]
  for (const one of env) t.throws(() => readSettings(one), ConfigError)
})

t.test('an admin key that is set must be long, and not empty', async (t) => {
  for (const key of ['', ' ', 'a', 'x'.repeat(15), 'x'.repeat(257), 'with a space in it']) {
    t.throws(() => readSettings({ TOLLGATE_ADMIN_KEY: key }), /TOLLGATE_ADMIN_KEY: must be 16–256/, `'${key}'`)
  }
  t.equal(readSettings({}).adminKey, null)
})

t.test('pages of every origin, or of some, may call the API', async (t) => {
  t.same(readSettings({ TOLLGATE_CORS_ORIGINS: '*' }).corsOrigins, ['*'])
  for (const text of ['https://a.example.com/path', 'a.example.com', '*.example.com', 'https://a.example.com,*', 'null']) {
    t.throws(() => readSettings({ TOLLGATE_CORS_ORIGINS: text }), /TOLLGATE_CORS_ORIGINS/, text)
  }
})
