import type { ModelConfig } from '../config/catalogue/types.ts'
import type { Exclusion, UnmetByModel } from './constraints.ts'

/** The most important first: a model that lacks a later one stays if all others lack an earlier one. */
const byImportance = [
  'n', 'modalities', 'audio', 'response_format', 'logprobs', 'top_logprobs', 'tools', 'functions', 'tool_choice',
  'function_call', 'parallel_tool_calls', 'service_tier', 'reasoning_effort', 'logit_bias',
  'temperature', 'seed', 'stop', 'top_p'
]

/** Estimates split by what the models would do with the parameters of the request. */
export interface ByParameters<Estimate> {
  /** Those that meet the most important ones, all of them if any model does. */
  meeting: Estimate[]
  /** Those that would answer without some of them: for when all others have failed. */
  reserve: Estimate[]
  excluded: Exclusion[]
}

/**
 * Rules out the models that would refuse the request if another one would answer it, and those that would
 * drop a parameter which another one takes. A parameter that none takes rules out none.
 */
export function splitByParameters<Estimate extends { id: string }> (
  estimates: readonly Estimate[],
  modelOf: (id: string) => ModelConfig | undefined,
  unmetBy: UnmetByModel | null
): ByParameters<Estimate> {
  if (unmetBy === null) return { meeting: [...estimates], reserve: [], excluded: [] }
  const requested = estimates.map(estimate => {
    const model = modelOf(estimate.id)
    const { dropped, refused } = model === undefined ? nothing : unmetBy(model)
    return { estimate, unmet: new Set([...dropped, ...refused]), isRefused: refused.length > 0 }
  })
  const names = [...new Set(requested.flatMap(({ unmet }) => [...unmet]))]
    .toSorted((one, other) => importance(one) - importance(other) || (one < other ? -1 : 1))
  // An answer without a parameter is better than a refusal.
  const answering = requested.filter(({ isRefused }) => !isRefused)
  let meeting = answering.length > 0 ? answering : requested
  for (const name of names) {
    const taking = meeting.filter(({ unmet }) => !unmet.has(name))
    if (taking.length > 0) meeting = taking
  }
  const kept = new Set(meeting)
  const others = requested.filter(one => !kept.has(one))
  return {
    meeting: meeting.map(({ estimate }) => estimate),
    reserve: others.filter(({ isRefused }) => !isRefused).map(({ estimate }) => estimate),
    excluded: others.map(({ estimate, unmet }) =>
      ({ model: estimate.id, constraint: 'parameters', parameters: [...unmet].toSorted() }))
  }
}

const nothing = { dropped: [], refused: [] }

function importance (name: string): number {
  const at = byImportance.indexOf(name)
  return at === -1 ? byImportance.length : at
}
