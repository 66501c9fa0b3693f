/** A stored image or video; immutable. */
export interface StoredMedia {
  id: string
  /** Detected from the bytes, e.g. `image/png`, `video/mp4`. */
  mime: string
  /** Without the dot, e.g. `png`. */
  extension: string
  bytes: number
  /** Pixels; null for videos. */
  width: number | null
  height: number | null
  /** ms since 1970. */
  createdAt: number
  expiresAt: number
}

export interface PutMediaOptions {
  /** Checked against the bytes, not against a header. */
  kind: 'image' | 'video'
  account: string
  job?: string
  maxBytes?: number
  retentionMs?: number
  /** Ends the work with MediaUnavailable. */
  signal?: AbortSignal | undefined
}

/** A body that has arrived whole and has the right kind, in a temporary file. */
export interface ReceivedMedia {
  /**
   * Resolves when it is durable. May be repeated after MediaUnavailable and StoreUnavailable: it is stored
   * once.
   */
  store (signal?: AbortSignal): Promise<StoredMedia>
  /** Deletes it unless it was stored. Never throws. */
  discard (): Promise<void>
}

/** Generated images and videos: bytes in a blob store, metadata in the database. */
export interface MediaStore {
  /** Reads a body to its end. Throws its errors; MediaRejected if it is too large or of another kind. */
  receive (body: AsyncIterable<Uint8Array> | Uint8Array, options: PutMediaOptions): Promise<ReceivedMedia>
  /** Receives and stores a body. Throws like both. */
  put (body: AsyncIterable<Uint8Array> | Uint8Array, options: PutMediaOptions): Promise<StoredMedia>
  get (id: string): Promise<StoredMedia | undefined>
  /** Reads a file, or the bytes from `start` to `end` inclusive. Throws BlobMissing. */
  read (media: StoredMedia, range?: { start: number, end: number }): Promise<AsyncIterable<Uint8Array>>
  /** A signed URL that expires with the media; `base` is the URL of the API, ending in `/v1`. */
  url (media: StoredMedia, base: string): string
}

export interface DownloadOptions {
  signal: AbortSignal
  maxBytes: number
  /** The provider that supplied the URL: its origin may be private or plain HTTP. */
  provider?: string
}

/**
 * Fetches a URL: HTTPS and public addresses only, limited in size and time. The caller must iterate the
 * result. Throws UpstreamError, also while iterating: `bad_reply` if rejected or absent,
 * `too_large`, `timeout`, `network`, `overloaded`, `aborted`.
 */
export interface Download {
  (url: string, options: DownloadOptions): Promise<AsyncIterable<Uint8Array>>
}
