import { Type, type Static } from '@sinclair/typebox'
import { Nullable } from '../shared/combinators.ts'

/** One chat model. Source: @anthropic-ai/sdk 1.12.0, resources/models. `created_at` is RFC 3339. */
export const MessagesModel = Type.Object({
  type: Type.Literal('model'),
  id: Type.String(),
  display_name: Type.String(),
  created_at: Type.String(),
  max_input_tokens: Nullable(Type.Integer()),
  max_tokens: Nullable(Type.Integer()),
  lifecycle: Type.String()
})
export type MessagesModel = Static<typeof MessagesModel>

/** One page of them. */
export const MessagesModelPage = Type.Object({
  data: Type.Array(MessagesModel),
  first_id: Nullable(Type.String()),
  last_id: Nullable(Type.String()),
  has_more: Type.Boolean()
})
export type MessagesModelPage = Static<typeof MessagesModelPage>

/** The query of `GET /v1/models`: pages for clients of Anthropic's API, and the version of Codex. */
export const ModelsQuery = Type.Object({
  limit: Type.Optional(Type.String({ pattern: '^[1-9]\\d{0,2}$|^1000$' })),
  after_id: Type.Optional(Type.String()),
  before_id: Type.Optional(Type.String()),
  client_version: Type.Optional(Type.String())
})
export type ModelsQuery = Static<typeof ModelsQuery>
