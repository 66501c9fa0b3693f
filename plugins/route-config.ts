import type { OwnAccountRule } from '../services/operations/admin/own-account.ts'
import type { Permission } from '../services/keys/roles.ts'
import type { BodyLimits } from './gateway/json-body.ts'
import type { ErrorShape } from '../services/http/messages-error.ts'
import type { Operation } from '../services/requests/request-summary.ts'

declare module 'fastify' {
  /** Facts about a route, for the plugins that serve all of them. */
  interface FastifyContextConfig {
    /** The response may be a provider's, byte for byte, or a file: it is not serialized. */
    passThrough?: boolean
    /** The kind of body, which limits its length; a few fields by default. */
    body?: keyof BodyLimits
    /** The body is a prompt; its tokens count against the limits of the key. */
    countsTokens?: boolean
    /** The request may start a job that outlives it and can report its end to a webhook. */
    startsJobs?: boolean
    /** The permission for a route under `/admin`; `own` by default. */
    permission?: Permission
    /**
     * How a user with a session is restricted to their account: by `account` in the query, by the id in the
     * path, or by the handler. Without it, users are rejected.
     */
    ownAccount?: OwnAccountRule
    /** The operation, for the spans of its requests. */
    operation?: Operation
    /** The shape of its errors; OpenAI's by default. */
    errorShape?: ErrorShape
    /** The schema of the events of a stream. */
    events?: object
    /** The schema of the body as `multipart/form-data`, for routes that also accept a form. */
    form?: object
  }
}
