import fp from 'fastify-plugin'
import { replaceCatalogue } from '../../services/config/catalogue/models.ts'
import type { GatewayConfig } from '../../services/config/catalogue/types.ts'
import { fetchUpdate } from '../../services/operations/catalogue/fetch-update.ts'
import { appliedCatalogue, appliedId, applyUpdate, fileOf } from '../../services/operations/catalogue/updates.ts'
import { periodically } from '../../services/shared/timers.ts'
import { gatewayActor } from '../../services/store/audit.ts'
import { claimChore } from '../../services/store/chores.ts'

interface CatalogueOptions {
  /** Where a newer catalogue is; null for the one of gateway.yaml. */
  url: string | null
  /** Reads the configuration again, with the prices of another catalogue. */
  load: () => GatewayConfig | Promise<GatewayConfig>
  /** How often to look for an update that another node has applied. */
  pollMs?: number
  /** How often to look for a newer catalogue. */
  refreshMs?: number
}

const dayMs = 86_400_000

/** Applies the catalogue that an operator or the daily refresh has stored, without a restart. */
export default fp<CatalogueOptions>(async (app, { url, load, pollMs = 5000, refreshMs = dayMs }) => {
  const { store, log, models } = app
  let current: number | null = null

  async function follow (): Promise<void> {
    const id = await appliedId(store)
    if (id === current) return
    const applied = id === null ? null : await appliedCatalogue(store)
    replaceCatalogue(applied && fileOf(applied))
    current = id
    models.apply(await load())
    log.info({ id, sha256: applied?.sha256 ?? null, source: applied?.source ?? 'release' }, 'catalogue applied')
  }

  async function refresh (): Promise<void> {
    const { catalogue } = models.config()
    const source = url ?? catalogue?.url ?? null
    if (source === null || !await claimChore(store, 'catalogue', refreshMs)) return
    const fetched = await fetchUpdate(source, null)
    const allowsLower = catalogue?.lowerPrices ?? false
    const change = await applyUpdate(store, { ...fetched, source, allowsLower, actor: gatewayActor })
    if (change === null) return
    const { added, risen, fallen } = change
    log.info({ source, added: added.length, risen, fallen, allowsLower }, 'catalogue refreshed')
    await follow()
  }

  app.addHook('onReady', follow)
  const onError = (err: unknown): void => log.error({ err }, 'the catalogue was not refreshed')
  const polls = periodically(() => pollMs, follow, onError)
  const refreshes = periodically(() => refreshMs, refresh, onError, { firstMs: Math.min(refreshMs, 10_000) })
  app.addHook('onClose', async () => {
    await Promise.all([polls.stop(), refreshes.stop()])
    if (current !== null) replaceCatalogue(null)
  })
}, { name: 'catalogue', dependencies: ['store', 'models'] })
