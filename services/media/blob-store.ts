import type { TempFile } from './temp-file.ts'

/** First and last byte, both included. */
export interface ByteRange { start: number, end: number }

/**
 * Stores the bytes of media under keys. All methods throw MediaUnavailable, also when the store is silent for
 * half a minute.
 */
export interface BlobStore {
  /** Whether every node sees the same blobs. If not, each node deletes the orphans that it sees. */
  readonly shared: boolean
  /** A local folder for uploads that are not complete; created on the first call. */
  tempFolder (): Promise<string>
  /**
   * Moves a complete temporary file into the store, atomically. Resolves when it is durable. After a failure
   * the file is still there, and `put` may be repeated.
   */
  put (key: string, file: TempFile, signal?: AbortSignal): Promise<void>
  /**
   * Throws BlobMissing. The caller must iterate the result or call its `return`; iterating throws
   * MediaUnavailable too.
   */
  read (key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array>>
  delete (keys: readonly string[]): Promise<void>
  /** Pages of keys written before a time, in ms since 1970. Files of other programs are skipped. */
  listOlderThan (timeMs: number): AsyncIterable<string[]>
  /** Deletes temporary files that a crash has left behind. */
  deleteStaleTempFiles (olderThanMs: number): Promise<void>
  /** Aborts all running operations. */
  close (): Promise<void>
}

const idPattern = '[0-9a-f]{32}'
const keyPattern = new RegExp(`^[0-9a-f]{2}/(${idPattern})\\.[a-z0-9]{2,5}$`)
const namePattern = new RegExp(`^(${idPattern})\\.([a-z0-9]{2,5})$`)

/** The key of a file, spread over 256 folders. */
export function blobKey (id: string, extension: string): string {
  return `${id.slice(0, 2)}/${id}.${extension}`
}

/** The id in a key; null for a key this gateway does not write. */
export function idOfBlobKey (key: string): string | null {
  return keyPattern.exec(key)?.[1] ?? null
}

/** Parses `<id>.<extension>`, the last part of a media URL; null for anything else. */
export function parseFileName (name: string): { id: string, extension: string } | null {
  const [, id, extension] = namePattern.exec(name) ?? []
  return id === undefined || extension === undefined ? null : { id, extension }
}

export type BlobStoreLocation = { folder: string } | S3Location

export interface S3Location {
  bucket: string
  /** Prepended to every key; empty, or ends with a slash. */
  prefix: string
  endpoint: string | null
  /** Null: read from the AWS environment. */
  region: string | null
}
