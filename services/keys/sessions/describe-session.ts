import type { ConsoleSession } from '../../../schemas/admin/session.ts'
import { permissionsOf, type Operator } from '../roles.ts'
import type { KeyRecord } from '../types.ts'
import { isoTime } from '../../shared/iso-time.ts'
import { expiryOf, type BrowserSession } from './session.ts'

/** Describes a session for its page. */
export function describeSession (
  { session, operator, payer, csrfToken }:
  { session: BrowserSession, operator: Operator, payer: KeyRecord | null, csrfToken: string }
): ConsoleSession {
  return {
    object: 'session',
    signed_in: true,
    actor: operator.id,
    role: operator.role,
    label: operator.label,
    account: operator.account,
    permissions: [...permissionsOf(operator.role)],
    payer: payer === null ? null : { key: payer.id, label: payer.label, account: payer.account },
    csrf_token: csrfToken,
    oidc: null,
    started_at: isoTime(session.startedAt),
    expires_at: isoTime(expiryOf(session))
  }
}

/** The response to a page without a session; the route adds the ways to sign in. */
export const noSession: ConsoleSession = {
  object: 'session',
  signed_in: false,
  actor: null,
  role: null,
  label: null,
  account: null,
  permissions: [],
  payer: null,
  csrf_token: null,
  oidc: null,
  started_at: null,
  expires_at: null
}
