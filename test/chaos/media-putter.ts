import { createDiskBlobStore } from '../../services/media/disk.ts'
import { createUrlSigner } from '../../services/media/url-signer.ts'
import { createMediaStore } from '../../services/media/store.ts'
import { openStore } from '../../services/store/open.ts'
import { inPieces, mp4Of } from '../services/media/samples.ts'

/** Stores one video after the other and prints the id of each, until it is killed. */
const [, , database = '', folder = ''] = process.argv
const store = await openStore(database)
const media = createMediaStore({
  store, blobs: createDiskBlobStore(folder), signer: createUrlSigner(['a key for tests only']), retentionMs: 3_600_000
})
for (;;) {
  const { id } = await media.put(inPieces(mp4Of(500_000), 10_000), { kind: 'video', account: 'a' })
  process.stdout.write(`${id}\n`)
}
