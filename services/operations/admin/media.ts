import type { Static } from '@sinclair/typebox'
import type { AdminMedia, MediaQuery } from '../../../schemas/admin/media.ts'
import { selectMediaPage, type MediaRow } from '../../media/rows.ts'
import { isoTime } from '../../shared/iso-time.ts'
import type { Store } from '../../store/store.ts'
import { readPage, type Page, type ListRequest } from './page.ts'

export type MediaRequest = ListRequest<Static<typeof MediaQuery>>

/** Signs the URL of a file. */
export type UrlOfMedia = (media: MediaRow) => string

/** Lists images and videos that have not expired, newest first. Throws GatewayError 400 for a wrong page. */
export async function listMedia (
  { reports, clock }: Pick<Store, 'reports' | 'clock'>, urlOf: UrlOfMedia, request: MediaRequest = {}
): Promise<Page<AdminMedia>> {
  const { account, kind } = request
  return await readPage(request, {
    example: [0, ''],
    read: (after, limit) => selectMediaPage(reports, { account, kind, now: clock(), after, limit }),
    toItem: row => toAdminMedia(row, urlOf),
    cursorOf: row => [row.createdAt, row.id]
  })
}

function toAdminMedia (row: MediaRow, urlOf: UrlOfMedia): AdminMedia {
  const { id, mime, account, job, bytes, width, height, createdAt, expiresAt } = row
  return {
    object: 'media',
    id,
    kind: mime.startsWith('video/') ? 'video' : 'image',
    mime_type: mime,
    account,
    job,
    bytes,
    width,
    height,
    created_at: isoTime(createdAt),
    expires_at: isoTime(expiresAt),
    url: urlOf(row)
  }
}
