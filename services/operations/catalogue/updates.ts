import type { CatalogueFile } from '../../config/catalogue/catalogue-file.ts'
import { shippedCatalogue } from '../../config/catalogue/models.ts'
import { recordChange, type Actor } from '../../store/audit.ts'
import type { Queries, Store } from '../../store/store.ts'
import type { FetchedUpdate } from './fetch-update.ts'
import { joinUpdate, readCatalogueUpdate, type CatalogueChange } from './update-file.ts'

/** A catalogue that was applied at run time. */
export interface AppliedCatalogue { id: number, source: string, sha256: string, content: string }

/** Older ones cannot be returned to. */
const kept = 10

const newest = `
  select id, source, sha256, content from catalogue_update where undone_at is null order by id desc limit 1`

/** Returns the id of the update in use without its content; null for the catalogue of the release. */
export async function appliedId ({ get }: Pick<Store, 'get'>): Promise<number | null> {
  const found = await get<{ id: number | null }>('select max(id) as id from catalogue_update where undone_at is null')
  return found?.id ?? null
}

/** Returns the update in use; null for the catalogue of the release, also if that is newer. */
export async function appliedCatalogue ({ get }: Pick<Queries, 'get'>): Promise<AppliedCatalogue | null> {
  const found = await get<AppliedCatalogue>(newest)
  return found === undefined || fileOf(found).date < shippedCatalogue().date ? null : found
}

export function fileOf ({ content }: Pick<AppliedCatalogue, 'content'>): CatalogueFile {
  return JSON.parse(content)
}

export interface UpdateRequest extends FetchedUpdate { source: string, allowsLower: boolean, actor: Actor }

/**
 * Applies an update for all nodes and records it. Returns null if the gateway itself has applied it before,
 * also if it was undone since. Throws an Error for a wrong or older file.
 */
export async function applyUpdate (
  store: Pick<Store, 'transaction' | 'clock'>, request: UpdateRequest
): Promise<CatalogueChange | null> {
  const { content, sha256, source, allowsLower, actor } = request
  const update = readCatalogueUpdate(content)
  return await store.transaction(async queries => {
    const last = await queries.get<Pick<AppliedCatalogue, 'id' | 'sha256'>>(
      'select id, sha256 from catalogue_update order by id desc limit 1'
    )
    if (last?.sha256 === sha256 && actor.id === 'gateway') return null
    const before = await appliedCatalogue(queries)
    const current = before === null ? shippedCatalogue() : fileOf(before)
    if (update.date < current.date) {
      throw new Error(`The catalogue is of ${update.date}, the one in use of ${current.date}.`)
    }
    const change = joinUpdate(current, update, allowsLower)
    const { added, risen, fallen } = change
    const id = (last?.id ?? 0) + 1
    const at = store.clock()
    await queries.run(`
      insert into catalogue_update (id, applied_at, actor, source, sha256, content) values ($1, $2, $3, $4, $5, $6)`,
    [id, at, actor.id, source, sha256, JSON.stringify(change.file)])
    await queries.run('delete from catalogue_update where id <= $1', [id - kept])
    await recordChange(queries, {
      actor,
      action: 'catalogue.update',
      target: 'catalogue',
      before: { date: current.date, sha256: before?.sha256 ?? null },
      after: {
        date: update.date,
        sha256,
        source,
        added: added.length,
        risen: risen.slice(0, named),
        [allowsLower ? 'fallen' : 'falls_refused']: fallen.slice(0, named)
      },
      at
    })
    return change
  })
}

/** Models that the audit log names of each kind. */
const named = 50

/** Returns to the catalogue before, on all nodes. Returns what was undone; null if nothing was applied. */
export async function undoUpdate (
  store: Pick<Store, 'transaction' | 'clock'>, actor: Actor
): Promise<Pick<AppliedCatalogue, 'source' | 'sha256'> | null> {
  return await store.transaction(async queries => {
    const undone = await queries.get<AppliedCatalogue>(newest)
    if (undone === undefined) return null
    const at = store.clock()
    await queries.run('update catalogue_update set undone_at = $1 where id = $2', [at, undone.id])
    const before = await appliedCatalogue(queries)
    const { source, sha256 } = undone
    const next = before === null ? shippedCatalogue() : fileOf(before)
    await recordChange(queries, {
      actor,
      action: 'catalogue.undo',
      target: 'catalogue',
      before: { date: fileOf(undone).date, sha256 },
      after: { date: next.date, sha256: before?.sha256 ?? null },
      at
    })
    return { source, sha256 }
  })
}
