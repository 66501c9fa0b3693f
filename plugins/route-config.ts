import type { OwnAccountRule } from '../services/operations/admin/own-account.ts'
import type { Permission } from '../services/keys/roles.ts'
import type { BodyLimits } from './gateway/json-body.ts'
import type { ErrorShape } from '../services/http/messages-error.ts'
import type { Operation } from '../services/requests/request-summary.ts'

declare module 'fastify' {
  /** Facts about a route, for the plugins that serve all of them. */
  interface FastifyContextConfig {
    /** The answer may be what a provider sent, byte for byte, or a file: no serializer runs over it. */
    passThrough?: boolean
    /** What the body holds, which bounds its length; a few fields unless it is declared. */
    body?: keyof BodyLimits
    /** The body is a prompt whose tokens count against the limits of the key. */
    countsTokens?: boolean
    /** The request may start a job that outlives it, which a webhook can tell the end of. */
    startsJobs?: boolean
    /** What an operator needs to enter a route under `/admin`; `own` unless it is declared. */
    permission?: Permission
    /**
     * How a user with a session is kept to their own account: by `account` in the query, by the id in the
     * path, or by the handler, which knows whose it is. Refused unless it is declared.
     */
    ownAccount?: OwnAccountRule
    /** What the route does, for the spans of its requests. */
    operation?: Operation
    /** The shape of its errors; OpenAI's unless it is declared. */
    errorShape?: ErrorShape
    /** The schema of the events of an answer that is streamed. */
    events?: object
    /** The schema of the body as `multipart/form-data`, for routes that take it as a form too. */
    form?: object
  }
}
