import { Type, type Static } from '@sinclair/typebox'
import { StringEnum } from '../shared/combinators.ts'

/** Source: @anthropic-ai/sdk 1.12.0, resources/shared, and docs.anthropic.com, "Errors". */
const ErrorKind = StringEnum([
  'invalid_request_error', 'authentication_error', 'billing_error', 'permission_error', 'not_found_error',
  'request_too_large', 'conflict_error', 'rate_limit_error', 'api_error', 'timeout_error', 'overloaded_error'
])
export type ErrorKind = Static<typeof ErrorKind>

/** Body of every error response of Anthropic's endpoints, and data of the event `error`. */
export const MessagesError = Type.Object({
  type: Type.Literal('error'),
  error: Type.Object({
    type: ErrorKind,
    message: Type.String(),
    details: Type.Optional(Type.Object({ error_code: Type.String() }, { description: 'The gateway\'s error code, which names the cause.' }))
  }),
  request_id: Type.String()
}, {
  examples: [{
    type: 'error',
    error: { type: 'not_found_error', message: 'The model `claude-none` does not exist or you do not have access to it.' },
    request_id: 'req_8c6eeccec17b47a800000005'
  }]
})
export type MessagesError = Static<typeof MessagesError>

/** The error responses of every such endpoint. */
export const messagesErrorResponses = { '4xx': MessagesError, '5xx': MessagesError }
