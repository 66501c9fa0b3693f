import type { Candidate } from './candidates.ts'

/**
 * The order in which to try the deployments of a model: the lower priority first; within one, at random, each
 * as often first as its weight says. What has no weight comes last there. `random` gives numbers from 0 up
 * to, not including, 1.
 */
export function inOrder (candidates: readonly Candidate[], random: () => number): readonly Candidate[] {
  if (candidates.length < 2) return candidates
  const byPriority = Map.groupBy(candidates, ({ deployment }) => deployment.priority)
  const priorities = [...byPriority.keys()].toSorted((one, other) => one - other)
  return priorities.flatMap(priority => shuffled(byPriority.get(priority) ?? [], random))
}

function shuffled (candidates: readonly Candidate[], random: () => number): Candidate[] {
  const left = [...candidates]
  const order: Candidate[] = []
  while (left.length > 0) {
    const total = left.reduce((sum, { deployment }) => sum + deployment.weight, 0)
    let point = random() * total
    const index = left.findIndex(({ deployment }) => (point -= deployment.weight) < 0)
    order.push(...left.splice(Math.max(0, index), 1))
  }
  return order
}
