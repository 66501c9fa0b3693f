import { Option, type Command } from 'commander'
import { mediaKinds, type AdminMedia } from '../schemas/admin/media.ts'
import type { Administration } from '../services/operations/admin/administration.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { listMedia, type MediaRequest, type UrlOfMedia } from '../services/operations/admin/media.ts'
import { readSettings, type Settings } from '../services/config/settings/settings.ts'
import { createUrlSigner, sharedSigningKey, signedUrl } from '../services/media/url-signer.ts'
import { withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `media`. */
export function addMediaCommand (program: Command, session: Session, env: NodeJS.ProcessEnv): void {
  withPaging(withJson(program.command('media')))
    .description('list the stored images and videos with their links, newest first')
    .option('--account <account>', 'only those of this account')
    .addOption(new Option('--kind <kind>', 'only images, or only videos').choices([...mediaKinds]))
    .action(async (options: JsonOption & MediaRequest) =>
      await session.list(options, columns, async administration =>
        await listMedia(administration.store, await urlSigner(administration, readSettings(env)), options)))
}

async function urlSigner (
  { store, secretBox }: Pick<Administration, 'store' | 'secretBox'>, settings: Settings
): Promise<UrlOfMedia> {
  const { publicBaseUrl, host, port, media: { signingKey } } = settings
  const signer = createUrlSigner([signingKey ?? await sharedSigningKey(store, secretBox)])
  const base = (publicBaseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`).replace(/\/v1$/, '')
  return media => signedUrl(signer, media, `${base}/v1`)
}

const columns: Column<AdminMedia>[] = [
  { name: 'created_at', cell: ({ created_at: at }) => at },
  { name: 'kind', cell: ({ kind }) => kind },
  { name: 'account', cell: ({ account }) => account },
  { name: 'job', cell: ({ job }) => job ?? '' },
  { name: 'bytes', numeric: true, cell: ({ bytes }) => String(bytes) },
  { name: 'size', cell: ({ width, height }) => width === null || height === null ? '' : `${width}x${height}` },
  { name: 'expires_at', cell: ({ expires_at: at }) => at },
  { name: 'url', cell: ({ url }) => url }
]
