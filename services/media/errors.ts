/** Why something is not taken into the store. */
export type Refusal = 'too_large' | 'wrong_type' | 'too_many_pixels' | 'empty'

/** What was to be stored is no image or video as wanted here. The message may be shown to anybody. */
export class MediaRefused extends Error {
  readonly reason: Refusal

  constructor (reason: Refusal, message: string) {
    super(message)
    this.name = 'MediaRefused'
    this.reason = reason
  }
}

/** The bytes of a stored file are not there any more. */
export class MediaGone extends Error {
  constructor (key: string, cause?: unknown) {
    super(`The bytes of ${key} are lost.`, { cause })
    this.name = 'MediaGone'
  }
}

/** The folder or S3-compatible store cannot be used now, or is full; always a 503 for the client. */
export class MediaUnavailable extends Error {
  constructor (cause: unknown) {
    super('The media store cannot be used.', { cause })
    this.name = 'MediaUnavailable'
  }
}
