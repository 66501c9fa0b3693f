import type { BlobStore, BlobStoreLocation } from './blob-store.ts'
import { createDiskBlobStore } from './disk.ts'

/** Creates the blob store at a location; no I/O happens until the first call. */
export async function openBlobStore (location: BlobStoreLocation): Promise<BlobStore> {
  if ('folder' in location) return createDiskBlobStore(location.folder)
  // Loaded on demand: the AWS client is larger than the gateway.
  const { createS3BlobStore } = await import('./s3.ts')
  return createS3BlobStore(location)
}
