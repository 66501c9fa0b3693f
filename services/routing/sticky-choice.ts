import type { Scored } from './rank.ts'
import type { Conversation } from './conversation.ts'
import type { Stay } from './sticky.ts'
import type { Reason } from './types.ts'

/** How much better than the model a conversation is with another one must be for it to leave. */
const stayMargin = 0.05

/**
 * Lets a conversation stay with its model while another one is not much better. In the middle of a tool loop
 * it stays in any case; when its model has become impossible then, one that is expected to be as good goes
 * first. `scored` is ordered, best first; so is the result.
 */
export function settle (
  scored: readonly Scored[], stay: Stay | undefined, { inToolLoop }: Conversation, policy: string
): { order: readonly Scored[], reason: Reason } {
  const best = scored[0]
  const current = stay && scored.find(({ id }) => id === stay.model)
  if (current !== undefined && best !== undefined) {
    if (inToolLoop) return { order: first(current, scored), reason: 'tool_loop' }
    if (current.score + stayMargin >= best.score) {
      return {
        order: first(current, scored), reason: 'conversation'
      }
    }
  }
  if (scored.length === 1) return { order: scored, reason: 'only_candidate' }
  const noWorse = inToolLoop && stay && scored.find(({ quality }) => quality >= stay.quality)
  if (noWorse) return { order: first(noWorse, scored), reason: 'tool_loop' }
  return { order: scored, reason: reasons[policy] ?? 'best_balance' }
}

const reasons: Readonly<Record<string, Reason>> = {
  'auto:cost': 'cheapest_good_enough', 'auto:quality': 'best_quality', 'auto:speed': 'fastest_good_enough'
}

function first (one: Scored, scored: readonly Scored[]): Scored[] {
  return [one, ...scored.filter(other => other !== one)]
}
