import { Type, type Static } from '@sinclair/typebox'
import { ListOf } from './shared.ts'
import { Nullable, StringEnum } from '../shared/combinators.ts'

export const breakerStates = ['ready', 'paused', 'open'] as const

const Latency = {
  p50_ms: Nullable(Type.Integer({ description: 'Median time of recent calls to the complete response, or to the first event of a stream.' })),
  p95_ms: Nullable(Type.Integer())
}

/** A recently called model of a provider. */
const ProviderDeployment = Type.Object({
  model: Type.String({ examples: ['gpt-5-mini'], description: 'The name of the model at the provider.' }),
  /** The circuit breaker of the node that responds; null if that node has not called the model. */
  state: Nullable(StringEnum(breakerStates, { examples: ['ready'] })),
  running: Type.Integer({ description: 'Running calls of the node that responds.' }),
  calls: Type.Integer(),
  failed_calls: Type.Integer(),
  ...Latency,
  first_token_ms: Nullable(Type.Integer({ examples: [410], description: 'Usual time to the first token, as measured by all nodes.' })),
  tokens_per_second: Nullable(Type.Number({ examples: [62.7] }))
})

/** A provider with its calls of the last hour, from at most the last 2,000 requests of all nodes. */
export const AdminProvider = Type.Object({
  object: Type.Literal('provider'),
  id: Type.String({ examples: ['openai'] }),
  protocol: Type.String({ examples: ['openai'] }),
  base_url: Type.String({ examples: ['https://api.openai.com/v1'] }),
  models: Type.Integer({ examples: [3], description: 'Configured models that it serves.' }),
  unpriced: Type.Integer({ examples: [2], description: 'Chat models that are refused because they have no price; 0 on the command line.' }),
  unpriced_models: Type.Array(Type.String({ examples: ['openai/gpt-next'] }), { description: 'The first 50 of them.' }),
  /** The worst state of its deployments on the node that responds; `unused` without recent calls. */
  state: StringEnum([...breakerStates, 'unused']),
  calls: Type.Integer(),
  failed_calls: Type.Integer(),
  ...Latency,
  failures: Type.Array(Type.Object({ kind: Type.String({ examples: ['timeout'] }), count: Type.Integer({ examples: [3] }) })),
  last_failure: Nullable(Type.Object({
    at: Type.String(),
    request: Type.String(),
    model: Type.String(),
    kind: Type.String(),
    status: Nullable(Type.Integer()),
    code: Nullable(Type.String()),
    words: Nullable(Type.String({ description: 'The provider\'s message, redacted and shortened.' }))
  })),
  deployments: Type.Array(ProviderDeployment)
})
export type AdminProvider = Static<typeof AdminProvider>

export const AdminProviderList = ListOf(AdminProvider)

/** The result of a probe. */
export const ProviderProbe = Type.Object({
  object: Type.Literal('provider_probe'),
  provider: Type.String({ examples: ['openai'] }),
  reachable: Type.Boolean(),
  duration_ms: Type.Integer(),
  models: Nullable(Type.Integer({ examples: [92], description: 'Number of models it lists.' })),
  failure: Nullable(Type.Object({ kind: Type.String(), message: Type.String() }))
})
export type ProviderProbe = Static<typeof ProviderProbe>
