import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client, S3ServiceException
} from '@aws-sdk/client-s3'
import { retry } from '../shared/timers.ts'
import { idOfBlobKey, type BlobStore, type S3Location } from './blob-store.ts'
import type { TempFile } from './temp-file.ts'
import { BlobMissing, MediaUnavailable, asMediaUnavailable, silenceMs } from './errors.ts'
import { readWithin } from './read-within.ts'

interface S3Options extends S3Location {
  /** Default: the AWS credential provider chain. */
  credentials?: { accessKeyId: string, secretAccessKey: string }
  limits?: Partial<S3Limits>
}

/** In ms: how long an upload may stall or a response not begin; and how long an upload may take. */
interface S3Limits { idleMs: number, totalMs: number }

const defaultLimits: S3Limits = { idleMs: silenceMs, totalMs: 600_000 }

/** A file sent to a slow client occupies a connection for the whole time. */
const maxSockets = 1024
const connectMs = 5_000
const maxAttempts = 3
const backoffMs = 200
const closeMs = 5_000

const quiet = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/**
 * Stores blobs in an S3-compatible bucket; uploads are first written to the system's temp folder. A method an
 * operation, each with its time limit.
 */
export function createS3BlobStore (options: S3Options): BlobStore {
  const { bucket, prefix } = options
  const { idleMs, totalMs } = { ...defaultLimits, ...options.limits }
  const client = createClient(options)
  const closing = new AbortController()
  let folder: Promise<string> | undefined

  /** Sends a request whose response must begin within `idleMs`, with all its retries. */
  async function send<Answer> (send: (abortSignal: AbortSignal) => Promise<Answer>): Promise<Answer> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(silent(idleMs)), idleMs)
    try {
      return await send(AbortSignal.any([late.signal, closing.signal]))
    } finally {
      clearTimeout(timer)
    }
  }

  async function upload (key: string, file: TempFile, signal: AbortSignal): Promise<void> {
    const { path, type, bytes, sha256 } = file
    const body = createReadStream(path)
    const { stalled, stop } = watchProgress(() => body.bytesRead, idleMs)
    const abortSignal = AbortSignal.any([signal, stalled])
    const command = new PutObjectCommand({
      Bucket: bucket,
      Key: prefix + key,
      Body: body,
      ContentLength: bytes,
      ContentType: type.mime,
      ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64')
    })
    try {
      const sent = client.send(command, { abortSignal })
      await asMediaUnavailable(sent, { limitMs: totalMs, signal: abortSignal })
    } finally {
      stop()
      body.on('error', () => {}).destroy()
    }
  }

  return {
    shared: true,

    async tempFolder () {
      folder ??= mkdtemp(join(tmpdir(), 'tollgate-media-'))
      try {
        return await asMediaUnavailable(folder, { limitMs: idleMs, signal: closing.signal })
      } catch (error) {
        folder = undefined
        throw error
      }
    },

    async put (key, file, signal) {
      const total = AbortSignal.timeout(totalMs)
      const ends = AbortSignal.any([total, closing.signal, ...signal === undefined ? [] : [signal]])
      await withRetries(() => upload(key, file, ends), ends)
      await asMediaUnavailable(rm(file.path, { force: true })).catch(() => {})
    },

    async read (key, range) {
      const Range = range === undefined ? undefined : `bytes=${range.start}-${range.end}`
      try {
        const command = new GetObjectCommand({ Bucket: bucket, Key: prefix + key, Range })
        const { Body } = await send(abortSignal => client.send(command, { abortSignal }))
        if (Body instanceof Readable) return readWithin(Body, idleMs)
        throw new Error('The response has no body.')
      } catch (error) {
        throw isNotFound(error) ? new BlobMissing(key, error) : new MediaUnavailable(error)
      }
    },

    async delete (keys) {
      // Not every store supports DeleteObjects.
      await asMediaUnavailable(Promise.all(keys.map(async key => {
        const command = new DeleteObjectCommand({ Bucket: bucket, Key: prefix + key })
        await send(abortSignal => client.send(command, { abortSignal }))
      })))
    },

    async * listOlderThan (timeMs) {
      let ContinuationToken: string | undefined
      do {
        const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken })
        const page = await asMediaUnavailable(send(abortSignal => client.send(command, { abortSignal })))
        yield (page.Contents ?? []).filter(({ LastModified }) => Number(LastModified) < timeMs)
          .map(({ Key = '' }) => Key.slice(prefix.length)).filter(key => idOfBlobKey(key) !== null)
        ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined
      } while (ContinuationToken !== undefined)
    },

    // `close` deletes the folder of this process.
    deleteStaleTempFiles: async () => {},

    async close () {
      closing.abort(new Error('The media store is closed.'))
      client.destroy()
      if (folder !== undefined) {
        const removed = folder.then(path => rm(path, { recursive: true, force: true }))
        await asMediaUnavailable(removed, { limitMs: closeMs }).catch(() => {})
      }
    }
  }
}

function createClient ({ endpoint, region, credentials }: S3Options): S3Client {
  return new S3Client({
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true, region: region ?? 'us-east-1' }),
    ...(region === null ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
    followRegionRedirects: true,
    // Stores other than AWS may not support the SDK's default checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts,
    logger: quiet,
    // The SDK's requestTimeout only warns and its socketTimeout ends downloads of slow readers, so the limits
    // are signals.
    requestHandler: { connectionTimeout: connectMs, httpsAgent: { maxSockets }, httpAgent: { maxSockets } }
  })
}

const silent = (idleMs: number): Error => new Error(`The bucket was silent for ${idleMs} ms.`)

/** Aborts `stalled` when `progress` has not changed for `idleMs`, give or take a quarter. */
function watchProgress (progress: () => number, idleMs: number): { stalled: AbortSignal, stop (): void } {
  const controller = new AbortController()
  let last = { value: progress(), atMs: performance.now() }
  const timer = setInterval(() => {
    const [value, atMs] = [progress(), performance.now()]
    if (value !== last.value) last = { value, atMs }
    else if (atMs - last.atMs >= idleMs) controller.abort(silent(idleMs))
  }, idleMs / 4)
  return { stalled: controller.signal, stop: () => clearInterval(timer) }
}

/**
 * Retries with exponential backoff: the SDK does not retry a request whose body is a stream. Does not retry
 * a refusal, an abort or a silent bucket; the caller may do so later.
 */
async function withRetries (send: () => Promise<void>, signal: AbortSignal): Promise<void> {
  await retry(send, (error, attempts) => {
    const cause = error instanceof MediaUnavailable ? error.cause : error
    const isFinal = signal.aborted || attempts === maxAttempts ||
      (cause instanceof S3ServiceException ? cause.$fault === 'client' : !isConnectionError(cause))
    if (isFinal) throw error
    return backoffMs * 2 ** attempts * Math.random()
  })
}

function isConnectionError (error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
}

function isNotFound (error: unknown): boolean {
  return error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404
}
