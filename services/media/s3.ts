import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client, S3ServiceException, paginateListObjectsV2
} from '@aws-sdk/client-s3'
import { idInKey } from './blobs.ts'
import type { Blobs } from './blobs.ts'
import { MediaGone, MediaUnavailable } from './errors.ts'
import { onDisk } from './spool.ts'
import type { S3Place } from './place.ts'

interface S3Options extends S3Place {
  /** By default found where all programs for AWS look: environment, profile, role of the machine. */
  credentials?: { accessKeyId: string, secretAccessKey: string }
}

/** Every file that is being sent to a client holds a connection for as long as the client takes. */
const maxSockets = 1024
const connectMs = 5_000
const attempts = 3
const pauseMs = 200

/** What goes wrong is thrown, and logged by whoever catches it. */
const quiet = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/**
 * Keeps media in a bucket of any S3-compatible store. Bodies are collected in the system's temporary folder.
 */
export function createS3Blobs ({ bucket, prefix, endpoint, region, credentials }: S3Options): Blobs {
  const client = new S3Client({
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true, region: region ?? 'us-east-1' }),
    ...(region === null ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
    followRegionRedirects: true,
    // Stores other than AWS know no other checksums than those asked for.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: attempts,
    logger: quiet,
    requestHandler: { connectionTimeout: connectMs, httpsAgent: { maxSockets }, httpAgent: { maxSockets } }
  })
  let folder: Promise<string> | undefined

  return {
    shared: true,

    async spoolFolder () {
      folder ??= onDisk(mkdtemp(join(tmpdir(), 'tollgate-media-')))
      return await folder
    },

    async keep (key, { path, type, bytes, sha256 }) {
      await again(() => client.send(new PutObjectCommand({
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
        throw isAbsent(error) ? new MediaGone(key, error) : new MediaUnavailable(error)
      }
    },

    async remove (keys) {
      // One by one: not every store can remove many at once.
      await inStore(Promise.all(keys.map(async key => {
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: prefix + key }))
      })))
    },

    async * writtenBefore (timeMs) {
      const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })
      for (;;) {
        const { value: page, done } = await inStore(pages.next())
        if (done === true) return
        yield (page.Contents ?? []).filter(({ LastModified }) => Number(LastModified) < timeMs)
          .map(({ Key = '' }) => Key.slice(prefix.length)).filter(key => idInKey(key) !== null)
      }
    },

    // The folder is this process's own, and empty unless something is under way.
    forgetSpools: async () => {},

    async close () {
      client.destroy()
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true })
    }
  }
}

/** The client repeats what fails, but not the sending of a file that it has begun to read. */
async function again (send: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await send()
      return
    } catch (error) {
      const isFinal = error instanceof S3ServiceException && error.$fault === 'client'
      if (isFinal || attempt === attempts) throw new MediaUnavailable(error)
      await new Promise(resolve => setTimeout(resolve, pauseMs * 2 ** attempt * Math.random()))
    }
  }
}

async function inStore<Result> (work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw new MediaUnavailable(error)
  }
}

function isAbsent (error: unknown): boolean {
  return error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404
}
