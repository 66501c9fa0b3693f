/** What was stored: its bytes never change. */
export interface StoredMedia {
  id: string
  /** By the bytes themselves, e.g. `image/png`, `video/mp4`. */
  mime: string
  /** File name extension that goes with the type, e.g. `png`. */
  extension: string
  bytes: number
  /** Of images; null where it is not known. */
  width: number | null
  height: number | null
  /** ms since 1970. */
  createdAt: number
  expiresAt: number
}

export interface PutOptions {
  /** What it may be; decided by the first bytes, whatever a header says. */
  kind: 'image' | 'video'
  /** The account it was made for. */
  account: string
  /** The job it comes from, if any. */
  job?: string
  /** Most bytes; default by kind. */
  maxBytes?: number
  /** How long it is kept, in ms; default by configuration. */
  keepMs?: number
}

/** Images and videos as bytes, on a disk or in an S3-compatible store, with a row each in the database. */
export interface MediaStore {
  /**
   * Stores a body and resolves when it would survive a crash. Throws MediaRefused when it is too large or
   * not of the kind.
   */
  put (body: AsyncIterable<Uint8Array> | Uint8Array, options: PutOptions): Promise<StoredMedia>
  get (id: string): Promise<StoredMedia | undefined>
  /** The bytes from `start` to `end`, both included; throws MediaGone when they are lost. */
  read (media: StoredMedia, range?: { start: number, end: number }): Promise<AsyncIterable<Uint8Array>>
  /** A signed address, good until the media expires; `base` is an origin with the path of the API, `…/v1`. */
  url (media: StoredMedia, base: string): string
}

export interface DownloadOptions {
  signal: AbortSignal
  maxBytes: number
  /**
   * The provider that named the address: its own origin, as configured, may be private or not encrypted.
   * Absent for what a client named.
   */
  provider?: string
}

/**
 * Fetches what a client or provider named: https, public addresses only, limited in size and time. Throws
 * UpstreamError, also while the bytes are read: `bad_reply` for what is refused or is not there, `timeout`,
 * `network`, `overloaded`, `aborted`. What is returned has to be iterated.
 */
export interface Download {
  (url: string, options: DownloadOptions): Promise<AsyncIterable<Uint8Array>>
}
