import type { Blobs } from './blobs.ts'
import { createDiskBlobs } from './disk.ts'
import type { MediaPlace } from './place.ts'

/** Opens the place where the bytes of media are. Nothing is asked or made there yet. */
export async function openBlobs (place: MediaPlace): Promise<Blobs> {
  if ('folder' in place) return createDiskBlobs(place.folder)
  // Loaded only where it is used: the client is larger than the gateway.
  const { createS3Blobs } = await import('./s3.ts')
  return createS3Blobs(place)
}
