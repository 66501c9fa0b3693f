import type { FileHandle } from 'node:fs/promises'

export type MediaRejectionReason = 'too_large' | 'wrong_type' | 'too_many_pixels' | 'empty'

/** A body is not an image or video that can be stored. The message is safe to show to clients. */
export class MediaRejected extends Error {
  readonly reason: MediaRejectionReason

  constructor (reason: MediaRejectionReason, message: string) {
    super(message)
    this.name = 'MediaRejected'
    this.reason = reason
  }
}

/** A stored file has a row but no bytes. */
export class BlobMissing extends Error {
  constructor (key: string, cause?: unknown) {
    super(`The blob ${key} is missing.`, { cause })
    this.name = 'BlobMissing'
  }
}

/** The blob store failed, is full or does not respond; clients get a 503. */
export class MediaUnavailable extends Error {
  constructor (cause: unknown) {
    super('The media store is unavailable.', { cause })
    this.name = 'MediaUnavailable'
  }
}

export interface Bounds {
  /** The longest wait, in ms. */
  limitMs?: number
  signal?: AbortSignal | undefined
}

/** How long an operation of a blob store may make no progress. */
export const silenceMs = 30_000

const hung = new Set<Promise<unknown>>()

/** Operations that were given up while the system had not ended them: the process cannot exit before. */
export const hungOperations = (): number => hung.size

/**
 * Awaits `work`. Throws MediaUnavailable when it fails, when it takes longer than `limitMs`, and when
 * `signal` is aborted; the work itself may go on.
 */
export async function asMediaUnavailable<Result> (
  work: Promise<Result>, { limitMs = silenceMs, signal }: Bounds = {}
): Promise<Result> {
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => giveUp(signal?.reason)
  const timer = setTimeout(() => giveUp(new Error(`The media store did not answer within ${limitMs} ms.`)), limitMs)
  function giveUp (reason: unknown): void {
    hung.add(work)
    const forget = (): void => { hung.delete(work) }
    work.then(forget, forget)
    reject(reason)
  }
  signal?.addEventListener('abort', onAbort)
  if (signal?.aborted === true) onAbort()
  try {
    return await Promise.race([work, ended])
  } catch (error) {
    throw new MediaUnavailable(error)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/**
 * Opens a file; throws as `asMediaUnavailable`. One that the disk opens later is closed, because Node.js ends
 * a process that loses an open file; then `onLate` runs.
 */
export async function openWithin (
  opening: Promise<FileHandle>, bounds: Bounds, onLate: () => Promise<void> = async () => {}
): Promise<FileHandle> {
  try {
    return await asMediaUnavailable(opening, bounds)
  } catch (error) {
    opening.then(async file => await file.close().finally(onLate)).catch(() => {})
    throw error
  }
}
