import type { Command } from 'commander'
import { loadConfig } from '../services/config/load.ts'
import { readSettings } from '../services/config/settings/settings.ts'
import { fetchUpdate } from '../services/operations/catalogue/fetch-update.ts'
import { applyUpdate, undoUpdate } from '../services/operations/catalogue/updates.ts'
import type { CatalogueChange } from '../services/operations/catalogue/update-file.ts'
import { withJson } from './options.ts'
import type { JsonOption, Session } from './session.ts'

interface UpdateOptions extends JsonOption { from?: string, sha256?: string, lowerPrices?: boolean }

/** Adds `catalogue update` and `catalogue undo`. */
export function addCatalogueCommands (program: Command, session: Session, env: NodeJS.ProcessEnv): void {
  const catalogue = program.command('catalogue').description('prices and windows of models, without a restart')
  withJson(catalogue.command('update'))
    .description('apply a newer catalogue on all nodes; prices that fall stay as they are unless --lower-prices')
    .option('--from <file|url>', 'the catalogue; the default is the configured URL')
    .option('--sha256 <hash>', 'its SHA-256; the default is the content of <file|url>.sha256')
    .option('--lower-prices', 'apply lower prices too')
    .action(async ({ from, sha256, lowerPrices = false, ...options }: UpdateOptions) => {
      const source = from ?? await configuredUrl(env)
      const fetched = await fetchUpdate(source, sha256 ?? null)
      const applied = await session.administer(async ({ store, actor }) => {
        const change = await applyUpdate(store, { ...fetched, source, allowsLower: lowerPrices, actor })
        return { source, sha256: fetched.sha256, ...listsOf(change), lower_prices: lowerPrices }
      })
      session.print(options, applied, () => toText(applied))
    })
  withJson(catalogue.command('undo'))
    .description('return to the catalogue before the last update, on all nodes')
    .action(async (options: JsonOption) => {
      const undone = await session.administer(async ({ store, actor }) => await undoUpdate(store, actor))
      session.print(options, undone, () => undone === null
        ? 'No update is applied.\n'
        : `Undone: ${undone.source}, SHA-256 ${undone.sha256}.\n`)
    })
}

async function configuredUrl (env: NodeJS.ProcessEnv): Promise<string> {
  const { configPath, catalogueUrl } = readSettings(env)
  const url = catalogueUrl ?? (await loadConfig({ path: configPath, env })).catalogue?.url ?? null
  if (url === null) throw new Error('Name a catalogue with --from, or set TOLLGATE_CATALOGUE_URL.')
  return url
}

function listsOf (change: CatalogueChange | null): Omit<CatalogueChange, 'file'> {
  const { added = [], risen = [], fallen = [] } = change ?? {}
  return { added, risen, fallen }
}

function toText (
  { source, sha256, added, risen, fallen, lower_prices: isLower }:
  Omit<CatalogueChange, 'file'> & { source: string, sha256: string, lower_prices: boolean }
): string {
  const falls = isLower ? 'cheaper' : 'cheaper there, but unchanged here without --lower-prices'
  return [
    `Applied ${source}, SHA-256 ${sha256}.`,
    `${added.length} new or newly priced, ${risen.length} dearer, ${fallen.length} ${falls}`,
    ...risen.map(name => `+ ${name}`), ...fallen.map(name => `- ${name}`), ''
  ].join('\n')
}
