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

/** The blob store failed or is full; clients get a 503. */
export class MediaUnavailable extends Error {
  constructor (cause: unknown) {
    super('The media store is unavailable.', { cause })
    this.name = 'MediaUnavailable'
  }
}

/** Awaits `work` and turns its failure into MediaUnavailable. */
export async function asMediaUnavailable<Result> (work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw new MediaUnavailable(error)
  }
}
