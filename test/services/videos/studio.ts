import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { request } from 'undici'
import { breakerDefaults } from '../../../services/config/defaults.ts'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ModelConfig, VideoSettings } from '../../../services/config/catalogue/types.ts'
import { videoDefaults } from '../../../services/config/defaults.ts'
import { toGatewayError } from '../../../services/http/to-gateway-error.ts'
import { createAccounts } from '../../../services/billing/ledger/accounts.ts'
import { checkLedger } from '../../../services/billing/ledger/check/check-books.ts'
import { createDeployments } from '../../../services/models/deployments/deployments.ts'
import { createLedger } from '../../../services/billing/ledger/create.ts'
import type { Ledger } from '../../../services/billing/ledger/ledger.ts'
import { MediaUnavailable } from '../../../services/media/errors.ts'
import type { Download, MediaStore, StoredMedia } from '../../../services/media/media.ts'
import type { VideoProvider } from '../../../services/providers/provider-video.ts'
import type { Store } from '../../../services/store/store.ts'
import { createRequestRecord } from '../../../services/requests/request-record.ts'
import { readRetryOptions } from '../../../services/requests/request-headers.ts'
import type { Timing } from '../../../services/videos/runner/runner-context.ts'
import { createVideoService } from '../../../services/videos/create-service.ts'
import type { VideoService } from '../../../services/videos/create-service.ts'
import { twoSeconds } from './provider.ts'
import type { FaultyParty, Job } from '../../../services/videos/job.ts'
import { columns, toJob, type JobRow } from '../../../services/videos/job-row.ts'
import { modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
import { keepOpen } from '../../helpers/keep-open.ts'
import { secretBox } from '../../helpers/secret-box.ts'

export const creditNano = 1_000_000_000_000
const secondNano = 100_000_000
const noPrice = {
  inputPico: null, outputPico: null, cacheReadPico: null, cacheWritePico: null, imageNano: null
}

/** One node that makes videos at a provider, reached over a real socket. */
export interface Studio {
  service: VideoService
  ledger: Ledger
  /** What was logged: level, message, details. */
  logged: [string, string, object][]
  /** Asks for a video; never throws. The headers `x-account` and `x-key` say who pays. */
  ask (
    body?: Partial<ChatCompletionRequest>, headers?: Record<string, string>, signal?: AbortSignal
  ): Promise<Answer>
  close (): Promise<void>
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what an answer is like, the test says
export interface Answer { status: number, headers: IncomingHttpHeaders, text: string, body: any }

export interface StudioOptions {
  makers?: Record<string, VideoProvider>
  /** The providers' name of the model. */
  upstreamModel?: string
  settings?: Partial<VideoSettings>
  timing?: Partial<Timing>
  model?: Partial<ModelConfig>
  media?: MediaStore
  download?: Download
  onCopyFailure?: (fault: FaultyParty) => void
  closeMs?: number
}

interface MemoryMedia extends MediaStore {
  stored: Map<string, Buffer>
  /** How many of the next attempts to store fail, as a full disk does; and all those ever made. */
  failures: number
  attempts: number
  /** Received and neither stored nor discarded. */
  pending: number
}

/** Videos in memory. */
export function createMedia (): MemoryMedia {
  const rows = new Map<string, StoredMedia>()
  const media: MemoryMedia = {
    stored: new Map(),
    failures: 0,
    attempts: 0,
    pending: 0,
    async receive (body) {
      const bytes = Buffer.concat(body instanceof Uint8Array ? [body] : await Array.fromAsync(body))
      let isPending = true
      media.pending++
      const end = (): void => {
        if (isPending) media.pending--
        isPending = false
      }
      return {
        async store () {
          media.attempts++
          if (media.failures-- > 0) throw new MediaUnavailable(new Error('ENOSPC: no space left on device, write'))
          media.failures = 0
          end()
          const id = `media_${media.stored.size}`
          const times = { createdAt: Date.now(), expiresAt: Date.now() + 86_400_000 }
          const row = { id, mime: 'video/mp4', extension: 'mp4', bytes: bytes.length, width: null, height: null, ...times }
          media.stored.set(id, bytes)
          rows.set(id, row)
          return row
        },
        discard: async () => end()
      }
    },
    put: async (body, options) => await (await media.receive(body, options)).store(),
    get: async (id: string) => rows.get(id),
    read: async ({ id }: StoredMedia, range = { start: 0, end: Infinity }) =>
      (async function * () { yield media.stored.get(id)!.subarray(range.start, range.end + 1) })(),
    url: ({ id }: StoredMedia, base: string) => `${base}/media/${id}.mp4?sig=x`
  }
  return media
}

/** Gives a store an account with money, and a key. */
export async function openAccount (store: Store, id = 'paying', key = 'key'): Promise<void> {
  const accounts = createAccounts(store)
  await accounts.create({ id })
  await accounts.deposit({ id: `first of ${id}`, account: id, amountNano: creditNano })
  await addKey(store, id, key)
}

/** Gives an account a key. */
export async function addKey (store: Store, account: string, key: string): Promise<void> {
  await store.run(`
    insert into api_key (id, secret_sha256, account, label, created_at) values ($1, $1, $2, '', 0)
    on conflict do nothing`, [key, account])
}

/** Starts a node on a store that has the account; all its times are scaled down. */
export async function startStudio (t: Test, store: Store, options: StudioOptions = {}): Promise<Studio> {
  const { makers = {}, upstreamModel = 'upstream-video', media = createMedia() } = options
  const settings = {
    ...videoDefaults,
    heartbeatAfterMs: 5_000,
    takeoverAfterMs: 500,
    pollsPerSecond: 10_000,
    ...options.settings
  }
  const logged: [string, string, object][] = []
  const log = { info: add('info'), warn: add('warn'), error: add('error') }
  function add (level: string) {
    return (details: object, message: string) => { logged.push([level, message, details]) }
  }
  const ledger = createLedger({ store, log, options: { heartbeatMs: 50 } })
  const makes = { model: upstreamModel, weight: 1, priority: 0 }
  const deployments = Object.keys(makers).map(provider => ({ provider, ...makes }))
  const model: ModelConfig = {
    ...modelFromCatalogue('up', 'film'),
    id: 'film',
    kind: 'video',
    deployments,
    price: { ...noPrice, secondNano },
    ...options.model
  }
  const service = await createVideoService({
    store,
    secretBox,
    ledger,
    media,
    download: options.download ?? (async () => (async function * () { yield twoSeconds })()),
    models: { resolveVideos: id => id === 'film' ? [{ model, deployments }] : [], regionsOf: () => null },
    catalogue: {
      resolve: id => id === 'film' ? { model, deployments } : undefined,
      provider: id => makers[id] && { id, videos: makers[id], close: async () => {} },
      deployments: createDeployments({ config: () => ({ breaker: breakerDefaults }) })
    },
    settings: () => settings,
    log,
    ...options.onCopyFailure !== undefined && { onCopyFailure: options.onCopyFailure },
    ...options.closeMs !== undefined && { closeMs: options.closeMs },
    timing: {
      doubtMs: 20, backoffMs: 5, maxBackoffMs: 50, progressMs: 0, watchMs: 20, newMs: 100, ...options.timing
    }
  })
  const { url, stop } = await listen(service)
  let closed: Promise<void> | undefined
  async function end (): Promise<void> {
    await service.close()
    stop()
    await ledger.close()
  }
  function close (): Promise<void> {
    closed ??= end()
    return closed
  }
  t.teardown(close)
  return {
    service,
    ledger,
    logged,
    close,
    async ask (body = {}, headers = {}, signal) {
      const answer = await request(url, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'film', messages: [{ role: 'user', content: 'a ball' }], ...body }),
        signal
      })
      const text = await answer.body.text()
      return { status: answer.statusCode, headers: answer.headers, text, body: JSON.parse(text) }
    }
  }
}

async function listen (service: VideoService) {
  const server = createServer(keepOpen, async (exchange, raw) => {
    const pieces: Buffer[] = []
    for await (const piece of exchange) pieces.push(piece)
    const fail = (error: unknown): void => {
      const answer = toGatewayError(error)
      raw.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.toBody()))
    }
    service.serve({
      ...readRetryOptions(exchange.headers),
      body: JSON.parse(Buffer.concat(pieces).toString()),
      payer: { key: textOf(exchange.headers['x-key']) ?? 'key', chain: [textOf(exchange.headers['x-account']) ?? 'paying'] },
      mayUse: () => true,
      regions: null,
      baseUrl: 'https://gateway.example/v1',
      record: createRequestRecord(),
      signal: new AbortController().signal,
      delivery: {
        json () {},
        stream: async () => {},
        keepAlive: () => ({ hasBegun: false, stop () {} }),
        keepWholeAlive: () => ({ hasBegun: false, stop () {}, fail () {} }),
        longPoll: () => ({
          raw,
          send: (headers, body) => { raw.writeHead(200, headers).end(JSON.stringify(body)) },
          fail,
          commit: headers => { raw.writeHead(200, headers) },
          serialize: body => JSON.stringify(body)
        })
      }
    }).catch(fail)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, stop: () => { server.closeAllConnections(); server.close() } }
}

const textOf = (value: string | string[] | undefined): string | undefined => [value].flat()[0]

/** All jobs, the oldest first. */
export async function jobsIn (store: Store): Promise<Job[]> {
  return (await store.all<JobRow>(`select ${columns} from job order by created_at, id`)).map(toJob)
}

/** What must be true of the books and the jobs after everything. */
export async function checkBooks (t: Test, store: Store): Promise<void> {
  t.strictSame(await checkLedger(store), [])
  t.strictSame(await store.all(`
    select job.id, job.state from job join hold on hold.id = job.hold
    where job.finished_at is not null and hold.state = 0`), [], 'a job that has ended holds no money')
  t.strictSame(await store.all(`
    select job.id from job where state = 'succeeded' and hold is not null
    and (select count(*) from entry where kind = 'usage' and ref = job.id) <> 1`), [], 'a success is charged once')
  t.strictSame(await store.all(`
    select job.id from job where finished_at is not null and state <> 'succeeded'
    and exists (select 1 from entry where kind = 'usage' and ref = job.id)`), [], 'a failure is not charged')
}
