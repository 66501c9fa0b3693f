import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, ListOf, Nano, Paging, SummedBy, SumQuery, Usd } from './shared.ts'
import { Nullable, NullableDecimal, StringEnum } from '../shared/combinators.ts'

export const requestOutcomes = ['succeeded', 'client_gone', 'refused', 'failed', 'broken_off'] as const

/** Outcomes to filter requests by; `error` is `failed` or `broken_off`, as `error_rate` counts them. */
export const outcomeFilters = [...requestOutcomes, 'error'] as const

/** Totals of requests by outcome. Times are those of successful requests. */
export const RequestTotals = Type.Object({
  object: Type.Literal('request_summary'),
  ...SummedBy,
  requests: Type.Integer(),
  /** 4xx: an invalid request, a limit or insufficient funds. */
  refused_requests: Type.Integer(),
  /** 5xx, and streams that broke off. */
  failed_requests: Type.Integer(),
  client_gone_requests: Type.Integer(),
  /** Share of all requests that failed, from 0 to 1. */
  error_rate: Type.Number(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  cost_usd: Usd,
  cost_nano: Nano,
  average_ms: Nullable(Type.Integer({ examples: [1240] })),
  max_ms: Nullable(Type.Integer({ examples: [1240] })),
  average_first_byte_ms: Nullable(Type.Integer({ examples: [214] }))
})
export type RequestTotals = Static<typeof RequestTotals>

export const RequestTotalsList = ListOf(RequestTotals)

/** Query of `GET /admin/request-totals`. */
export const RequestTotalsQuery = Closed(SumQuery)

/** One call of a provider. */
const RequestAttempt = Type.Object({
  provider: Type.String(),
  model: Type.String({ description: 'The name of the model at the provider.' }),
  status: Nullable(Type.Integer({ description: 'The provider\'s HTTP status; null if it sent none.' })),
  failure: Nullable(Type.String({ description: 'The kind of failure; null on success.' })),
  code: Nullable(Type.String({ description: 'The provider\'s error code.' })),
  words: Nullable(Type.String({ description: 'The provider\'s message about the failure, redacted and shortened.' })),
  started_ms: Type.Integer({ examples: [2], description: 'Since the start of the request.' }),
  duration_ms: Nullable(Type.Integer({
    description: 'Time to the complete response, the first event of a stream or the failure.'
  })),
  price_basis: Nullable(Type.Literal('family', {
    description: '`family`: the model had no price, so the dearest of its family applied.'
  }))
})

const requestFields = {
  object: Type.Literal('request'),
  id: Type.String({ examples: ['req_8c6eeccec17b47a800000005'], description: 'The `x-request-id`. Clients may send the same id more than once.' }),
  started_at: Type.String(),
  ended_at: Type.String(),
  key: Type.String(),
  account: Type.String(),
  route: Type.String({ examples: ['/v1/chat/completions'] }),
  model_asked: Nullable(Type.String({ examples: ['sandbox-chat'], description: 'The requested model, redacted and shortened.' })),
  policy: Nullable(Type.String({ description: 'The policy that chose the model; null if the client named it.' })),
  decision: Nullable(Type.String({ description: 'The header `x-tollgate-route` of the response.' })),
  model: Nullable(Type.String({ description: 'The model that ran.' })),
  provider: Nullable(Type.String({ description: 'The provider of the response, or the last one called.' })),
  stream: Type.Boolean(),
  status: Type.Integer(),
  outcome: StringEnum(requestOutcomes),
  error_code: Nullable(Type.String({ description: 'The error code that the client received.' })),
  provider_words: Nullable(Type.String({ description: 'The provider\'s message about that error, redacted and shortened.' })),
  attempt_count: Type.Integer(),
  attempts: Type.Array(RequestAttempt, { description: 'The first 20 provider calls.' }),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  held_usd: NullableDecimal(),
  held_nano: Nullable(Nano),
  cost_usd: Usd,
  cost_nano: Nano,
  first_byte_ms: Nullable(Type.Integer({ examples: [214], description: 'Time to the first byte of the response.' })),
  total_ms: Type.Integer(),
  job: Nullable(Type.String({ description: 'The video job.' })),
  plugins: Nullable(Type.String({
    examples: ['tollgate/redact, guard;rejected'],
    description: 'The plugins that took part, each with its outcome if it ended or missed the request; null without plugins.'
  }))
}

/** One request of the log. */
export const LoggedRequestItem = Type.Object(requestFields)
export type LoggedRequestItem = Static<typeof LoggedRequestItem>

export const LoggedRequestList = ListOf(LoggedRequestItem)

/** One request with its ledger entries; the list is empty until they are written. */
export const RequestWithEntries = Type.Object({
  ...requestFields,
  entries: Type.Array(Type.Object({
    id: Type.String({ examples: ['entry_6'] }),
    kind: Type.String({ examples: ['usage'] }),
    amount_usd: Usd,
    amount_nano: Nano
  }))
})
export type RequestWithEntries = Static<typeof RequestWithEntries>

export const RequestWithEntriesList = ListOf(RequestWithEntries)

/** Query of `GET /admin/requests`; ended from `from` on, before `to`. */
export const LoggedRequestQuery = Closed({
  ...Paging,
  account: Type.Optional(Id),
  key: Type.Optional(Id),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'The model that ran or was requested.' })),
  provider: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'A provider that was called.' })),
  status: Type.Optional(Type.String({ pattern: '^[1-5]([0-9]{2}|xx)$', description: 'E.g. `429` or `5xx`.' })),
  failed_at: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'The provider whose call failed.' })),
  outcome: Type.Optional(StringEnum(outcomeFilters)),
  from: Type.Optional(Instant),
  to: Type.Optional(Instant)
})
