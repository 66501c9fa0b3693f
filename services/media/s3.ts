import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client, S3ServiceException, paginateListObjectsV2
} from '@aws-sdk/client-s3'
import { retry } from '../shared/timers.ts'
import { idOfBlobKey, type BlobStore, type S3Location } from './blob-store.ts'
import { BlobMissing, MediaUnavailable, asMediaUnavailable } from './errors.ts'

interface S3Options extends S3Location {
  /** Default: the AWS credential provider chain. */
  credentials?: { accessKeyId: string, secretAccessKey: string }
}

/** A file sent to a slow client occupies a connection for the whole time. */
const maxSockets = 1024
const connectMs = 5_000
const maxAttempts = 3
const backoffMs = 200

const quiet = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Stores blobs in an S3-compatible bucket; uploads are first written to the system's temp folder. */
export function createS3BlobStore ({ bucket, prefix, endpoint, region, credentials }: S3Options): BlobStore {
  const client = new S3Client({
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true, region: region ?? 'us-east-1' }),
    ...(region === null ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
    followRegionRedirects: true,
    // Stores other than AWS may not support the SDK's default checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts,
    logger: quiet,
    requestHandler: { connectionTimeout: connectMs, httpsAgent: { maxSockets }, httpAgent: { maxSockets } }
  })
  let folder: Promise<string> | undefined

  return {
    shared: true,

    async tempFolder () {
      folder ??= asMediaUnavailable(mkdtemp(join(tmpdir(), 'tollgate-media-')))
      return await folder
    },

    async put (key, { path, type, bytes, sha256 }) {
      await withRetries(() => client.send(new PutObjectCommand({
        Bucket: bucket,
        Key: prefix + key,
        Body: createReadStream(path),
        ContentLength: bytes,
        ContentType: type.mime,
        ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64')
      })))
      await rm(path, { force: true })
    },

    async read (key, range) {
      const Range = range === undefined ? undefined : `bytes=${range.start}-${range.end}`
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: prefix + key, Range }))
        if (Body instanceof Readable) return Body
        throw new Error('The answer has no body.')
      } catch (error) {
        throw isNotFound(error) ? new BlobMissing(key, error) : new MediaUnavailable(error)
      }
    },

    async delete (keys) {
      // Not every store supports DeleteObjects.
      await asMediaUnavailable(Promise.all(keys.map(async key => {
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: prefix + key }))
      })))
    },

    async * listOlderThan (timeMs) {
      const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })
      for (;;) {
        const { value: page, done } = await asMediaUnavailable(pages.next())
        if (done === true) return
        yield (page.Contents ?? []).filter(({ LastModified }) => Number(LastModified) < timeMs)
          .map(({ Key = '' }) => Key.slice(prefix.length)).filter(key => idOfBlobKey(key) !== null)
      }
    },

    // `close` deletes the folder of this process.
    deleteStaleTempFiles: async () => {},

    async close () {
      client.destroy()
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true })
    }
  }
}

/** Retries with exponential backoff: the SDK does not retry a request whose body is a stream. */
async function withRetries (send: () => Promise<unknown>): Promise<void> {
  await retry(send, (error, attempts) => {
    const isFinal = error instanceof S3ServiceException && error.$fault === 'client'
    if (isFinal || attempts === maxAttempts) throw new MediaUnavailable(error)
    return backoffMs * 2 ** attempts * Math.random()
  })
}

function isNotFound (error: unknown): boolean {
  return error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404
}
