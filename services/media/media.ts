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
}

/** Generated images and videos: bytes in a blob store, metadata in the database. */
export interface MediaStore {
  /** Resolves when the body is durable. Throws MediaRejected if it is too large or of another kind. */
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
 * result. Throws UpstreamError, also while iterating: `bad_reply` if rejected or absent, `timeout`,
 * `network`, `overloaded`, `aborted`.
 */
export interface Download {
  (url: string, options: DownloadOptions): Promise<AsyncIterable<Uint8Array>>
}
