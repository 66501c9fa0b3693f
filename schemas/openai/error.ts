import { Type, type Static } from '@sinclair/typebox'
import { Nullable } from '../shared/combinators.ts'

export const ErrorDetails = Type.Object({
  message: Type.String(),
  type: Type.String(),
  param: Nullable(Type.String()),
  code: Nullable(Type.String())
})

/** Body of every error response. Source: OpenAI specification, schema `ErrorResponse`. */
export const ErrorResponse = Type.Object({ error: ErrorDetails }, {
  examples: [{
    error: {
      message: 'The model `gpt-none` does not exist or you do not have access to it.',
      type: 'invalid_request_error',
      param: null,
      code: 'model_not_found'
    }
  }]
})
export type ErrorResponse = Static<typeof ErrorResponse>

/** The error responses of every endpoint. */
export const errorResponses = { '4xx': ErrorResponse, '5xx': ErrorResponse }
