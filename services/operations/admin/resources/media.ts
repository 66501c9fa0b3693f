import { AdminMediaList, MediaQuery } from '../../../../schemas/admin/media.ts'
import { fields, numbers } from '../format/columns.ts'
import { listMedia } from '../media.ts'
import { operation, option } from '../operation.ts'
import { toPageRequest } from '../query.ts'

/** The stored images and videos. */
export const mediaOperations = [
  operation('GET /media', 'read', {
    ownAccount: 'query',
    summary: 'List images and videos, newest first',
    query: MediaQuery,
    result: AdminMediaList,
    run: async ({ store, host }, { query }) =>
      await listMedia(store, await host.mediaUrls(), { ...query, ...toPageRequest(query) }),
    command: {
      name: 'media',
      description: 'list the stored images and videos with their links, newest first',
      options: {
        account: option('--account <account>', 'only those of this account'),
        kind: option('--kind <kind>', 'only images, or only videos')
      },
      columns: () => [
        ...fields('created_at', 'kind', 'account', 'job'),
        ...numbers('bytes'),
        { name: 'size', cell: ({ width, height }) => width === null || height === null ? '' : `${width}x${height}` },
        ...fields('expires_at', 'url')
      ]
    }
  })
]
