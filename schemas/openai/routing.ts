import { Type, type Static } from '@sinclair/typebox'
import { ChatCompletionRequest } from './chat-completions.ts'
import { Nullable } from '../shared/combinators.ts'

const open = { additionalProperties: true } as const

/** Body of `POST /v1/routing/decisions`: a chat completion, and optionally the only models to choose from. */
export const RoutingQuestion = Type.Composite([
  ChatCompletionRequest,
  Type.Object({
    candidates: Type.Optional(Nullable(Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 1000,
      description: 'The models to compare: all of them are shown, with four digits. Absent: the first five, with two.'
    })))
  })
])
export type RoutingQuestion = Static<typeof RoutingQuestion>

const RoutingCandidate = Type.Object({
  model: Type.String(),
  quality: Nullable(Type.Number({ description: 'Expected chance of a good answer, 0 to 1.' })),
  basis: Nullable(Type.String({
    description: 'What the quality rests on: `operator`, your configuration; `measured`, outcomes of this model in this domain; ' +
      '`family`, those of its family or in other domains; `guessed`, its price, size and age.'
  })),
  source: Nullable(Type.String({ description: 'Where that was measured.' })),
  as_of: Nullable(Type.String({ description: 'When that was measured, as a date; null if it is not known.' })),
  cost_usd: Nullable(Type.Number({ description: 'Expected cost of the request.' })),
  latency_ms: Nullable(Type.Number({ description: 'Expected time until the whole answer has arrived.' })),
  score: Nullable(Type.Number({ description: 'Weighted sum under the policy; the highest goes first.' })),
  excluded_by: Nullable(Type.String({ description: 'The constraint that removed the model; null for a candidate.' }))
}, open)

/** A decision for a request to `auto`: the candidates, best first, then the excluded models. */
export const RoutingDecision = Type.Object({
  object: Type.Literal('routing.decision'),
  model: Type.String({ description: 'The model that would be called first.' }),
  policy: Type.String(),
  reason: Type.String(),
  summary: Type.String({ description: 'The decision in one sentence.' }),
  confidence: Type.Number({ description: 'The chance that it is better than the second, 0.5 to 1.' }),
  saved_usd: Type.Number({ description: 'How much less it is expected to cost than the best model of the pool.' }),
  candidates: Type.Array(RoutingCandidate),
  omitted: Type.Integer({ description: 'How many more models there are.' }),
  domain: Type.String(),
  task: Type.String({ description: 'What the prompt asks for, e.g. `translate`, `prove` or `debug`.' }),
  signals: Type.Record(Type.String(), Type.Union([Type.Number(), Type.Boolean()])),
  sticky: Type.Boolean(),
  weights_version: Type.String(),
  us: Type.Number({ description: 'Duration of the decision in microseconds.' })
}, {
  ...open,
  examples: [{
    object: 'routing.decision',
    model: 'sandbox-chat',
    policy: 'auto',
    reason: 'only_candidate',
    summary: 'auto chooses sandbox-chat as the only model that can serve this request for knowledge, ' +
      'with quality 0.97 at about $0.0000733; 0 other models could answer, 0 cannot.',
    confidence: 1,
    saved_usd: 0,
    candidates: [{
      model: 'sandbox-chat',
      quality: 0.97,
      basis: 'guessed',
      source: null,
      as_of: null,
      cost_usd: 0.0000733,
      latency_ms: 1048,
      score: 0.9761,
      excluded_by: null
    }],
    omitted: 0,
    domain: 'knowledge',
    task: 'greet',
    signals: { turns: 1, promptTokens: 13, wantsSchema: false, difficulty: -2.484, outputTokens: 180 },
    sticky: false,
    weights_version: '2424133a',
    us: 1318
  }]
})
export type RoutingDecision = Static<typeof RoutingDecision>
