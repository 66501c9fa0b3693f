import { UpstreamError, type UpstreamErrorKind } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject, ownMember } from '../../shared/json.ts'
import { errorObjectIn, retryDelayMs } from '../google-status.ts'
import { orMissingAddress } from '../missing-address.ts'
import { masked, readErrorBody, retryAfterMsOf } from '../upstream/read-response.ts'
import { kindByStatus } from '../upstream/status-kinds.ts'
import type { UpstreamResponse } from '../upstream/response.ts'

/** The error of an answer whose status is not 200; reads the body. `secret` never appears in its message. */
export async function readAnthropicError (
  response: UpstreamResponse, secret: string | null
): Promise<UpstreamError> {
  const { status, headers } = response
  const body = await readErrorBody(response)
  const error = errorObjectIn(body)
  const shouldRetry = headers['x-should-retry'] === 'false' ? false : undefined
  const retryAfterMs = retryAfterMsOf(headers) ?? retryDelayMs(body)
  return orMissingAddress(toError(error, { status, secret, retryAfterMs, shouldRetry }), response)
}

/** The error in an `error` event, or in a body that came with status 200. */
export function anthropicErrorIn (body: JsonObject, secret: string | null): UpstreamError {
  return toError(body.error ?? body, { status: null, secret })
}

interface FailedResponse {
  status: number | null
  secret: string | null
  retryAfterMs?: number
  shouldRetry?: boolean
}

function toError (error: unknown, { status, secret, ...advice }: FailedResponse): UpstreamError {
  const fields = isObject(error) ? error : {}
  const type = textOf(fields.type)
  const code = isObject(fields.details) ? textOf(fields.details.error_code) : null
  const said = textOf(fields.message) ?? (status === null ? 'The provider failed.' : `The provider answered with status ${status}.`)
  const message = masked(said, secret)
  const kind = kindOf(status, type, code, said)
  const isTooLong = kind === 'bad_request' && tooLong.test(said)
  return new UpstreamError(kind, 'yes', message.slice(0, 2000), {
    status: status ?? 502,
    ...advice,
    type,
    code: isTooLong ? 'context_length_exceeded' : code,
    param: isTooLong ? 'messages' : null
  })
}

const tooLong = /prompt is too long|exceed context limit/i
/** An empty balance of the gateway's own account is reported as an invalid request. */
const ownAccount = /credit balance is too low/i

const kindByCode: Readonly<Record<string, UpstreamErrorKind>> = {
  organization_on_hold: 'auth',
  organization_type_not_supported: 'auth',
  contract_spend_limit_reached: 'quota',
  enforced_spend_limit_reached: 'quota',
  linked_organization_billing_unavailable: 'quota',
  linked_organization_spend_limit_reached: 'quota'
}

/** Source: @anthropic-ai/sdk 1.12.0, core/error and resources/shared. */
const kindByType: Readonly<Record<string, UpstreamErrorKind>> = {
  invalid_request_error: 'bad_request',
  authentication_error: 'auth',
  permission_error: 'auth',
  billing_error: 'quota',
  not_found_error: 'not_found',
  request_too_large: 'too_large',
  rate_limit_error: 'rate',
  api_error: 'bad_reply',
  timeout_error: 'timeout',
  overloaded_error: 'overloaded'
}

function kindOf (
  status: number | null, type: string | null, code: string | null, message: string
): UpstreamErrorKind {
  const byCode = code === null ? undefined : ownMember(kindByCode, code)
  if (byCode !== undefined) return byCode
  if (ownAccount.test(message)) return 'quota'
  return ownMember(kindByType, type ?? '') ?? kindByStatus[status ?? 0] ?? 'bad_reply'
}

const textOf = (value: unknown): string | null => isText(value) ? value : null
