import type { ModelConfig } from '../catalogue/types.ts'
import { violated, type Permissions } from './constraints.ts'
import { expect, type Bounded, type Outlook } from './estimate.ts'
import type { Entry, Pool } from './pool.ts'
import type { Deployments, Question, Exclusion, Policy, Constraint } from './types.ts'

/** The models that can take a request, and those that cannot. */
export interface Assessment {
  possible: Bounded[]
  excluded: () => Exclusion[]
}

/** Applies every constraint to every model; only of those that are left the expectation is worked out. */
export function assess (
  question: Question, policy: Policy, { entries, byId }: Pool, outlook: Outlook, incumbent: string | undefined
): Assessment {
  const { candidates, mayUse } = question
  const permissions = { policy, mayUse, isHealthy: healthy(outlook.deployments) }
  const considered = candidates === null ? entries : candidates.flatMap(id => byId.get(id) ?? [])
  const limits = limitsOf(question, policy)
  const possible: Bounded[] = []
  const removed: Exclusion[] = []
  for (const entry of new Set(considered)) {
    const { id } = entry.model
    if (constraintOf(entry, outlook, permissions) !== null) continue
    const expected = expect(entry, outlook, id === incumbent ? outlook.request.earlierTokens : 0)
    const tooDear = limits.find(({ mostNano }) => expected.highestNano > mostNano)
    if (tooDear === undefined) possible.push(expected)
    else removed.push({ model: id, constraint: tooDear.constraint })
  }

  /** Worked out only where it is shown: a catalogue may have a thousand models. */
  function excluded (): Exclusion[] {
    const others = candidates === null ? [] : candidates.filter(id => !byId.has(id))
    const unable = considered.flatMap(entry => {
      const constraint = constraintOf(entry, outlook, permissions)
      return constraint === null ? [] : [{ model: entry.model.id, constraint }]
    })
    const unknown = others.map(model => ({ model, constraint: 'unknown' as const }))
    return [...removed, ...unable, ...unknown]
  }

  return { possible, excluded }
}

function constraintOf (entry: Entry, { request }: Outlook, permissions: Permissions): Constraint | null {
  const found = violated(entry.model, request, permissions)
  return found ?? (entry.prices.length === 0 ? 'price' : null)
}

function limitsOf (
  { availableNano }: Question, { config }: Policy
): { constraint: Constraint, mostNano: number }[] {
  const limits = [
    { constraint: 'ceiling' as const, mostNano: config.ceilingNano ?? Infinity },
    { constraint: 'credit' as const, mostNano: availableNano ?? Infinity }
  ]
  return limits.filter(({ mostNano }) => mostNano < Infinity)
}

function healthy (deployments: Deployments): (model: ModelConfig) => boolean {
  return model => model.deployments.some(one => deployments.isAvailable(one))
}
