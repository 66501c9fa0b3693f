import { Readable } from 'node:stream'
import type { Log } from '../shared/log.ts'
import type { ByteRange } from './blob-store.ts'
import { BlobMissing } from './errors.ts'
import type { MediaStore, StoredMedia } from './media.ts'
import { mediaNotFound } from './signed-url.ts'

/** Opens a file or a range of it. Throws GatewayError 404 if its bytes are missing; MediaUnavailable. */
export async function openFile (
  { media, log }: { media: MediaStore, log: Pick<Log, 'error'> }, found: StoredMedia, range?: ByteRange
): Promise<Readable> {
  try {
    const bytes = await media.read(found, range)
    return bytes instanceof Readable ? bytes : Readable.from(bytes, { objectMode: false })
  } catch (error) {
    if (!(error instanceof BlobMissing)) throw error
    log.error({ err: error }, 'a media blob is missing')
    throw mediaNotFound(error)
  }
}
