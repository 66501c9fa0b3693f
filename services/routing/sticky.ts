import { createLru, type Lru } from '../shared/lru.ts'
import type { RankedModel } from './rank.ts'
import type { RequestFeatures } from './request-features.ts'
import type { RoutingReason } from './types.ts'

/** The model that answered a conversation last, and its estimated quality then. */
export interface StickyModel { model: string, quality: number }

/** The sticky models of recent conversations on this node. Eviction only costs a provider's cache hit. */
export type StickyModels = Pick<Lru<StickyModel>, 'get' | 'set' | 'delete'>

/** A ranked model leaves its conversation only when another one scores better by more than this. */
const stickyMargin = 0.05
const limits = { conversations: 20_000, idleMs: 3_600_000 }

export function createStickyModels (
  { clock = () => performance.now() }: { clock?: () => number } = {}
): StickyModels {
  return createLru<StickyModel>(limits.conversations, {
    ttl: limits.idleMs,
    ttlResolution: 0,
    updateAgeOnGet: true,
    perf: { now: clock }
  })
}

/**
 * Keeps a conversation on its model unless another one is clearly better. In a tool loop it stays in any
 * case; if its model was filtered out there, the best one of at least the same quality goes first. `ranked`
 * and the result are ordered best first. `policy` names the reason of a new choice; null: the request's dial.
 */
export function stick (
  ranked: readonly RankedModel[],
  sticky: StickyModel | undefined,
  { inToolLoop }: RequestFeatures,
  policy: string | null
): { order: readonly RankedModel[], reason: RoutingReason } {
  const best = ranked[0]
  const current = sticky && ranked.find(({ id }) => id === sticky.model)
  if (current !== undefined && best !== undefined) {
    if (inToolLoop) return { order: withFirst(current, ranked), reason: 'tool_loop' }
    if (current.score + stickyMargin >= best.score) {
      return { order: withFirst(current, ranked), reason: 'conversation' }
    }
  }
  if (ranked.length === 1) return { order: ranked, reason: 'only_candidate' }
  const successor = inToolLoop && sticky && ranked.find(({ quality }) => quality >= sticky.quality)
  if (successor) return { order: withFirst(successor, ranked), reason: 'tool_loop' }
  return { order: ranked, reason: reasons[policy ?? ''] ?? 'best_balance' }
}

const reasons: Readonly<Record<string, RoutingReason>> = {
  'auto:cost': 'cheapest_good_enough', 'auto:quality': 'best_quality', 'auto:speed': 'fastest_good_enough'
}

function withFirst (first: RankedModel, ranked: readonly RankedModel[]): RankedModel[] {
  return [first, ...ranked.filter(other => other !== first)]
}
