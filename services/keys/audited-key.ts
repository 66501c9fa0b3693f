import { isoTimeOrNull } from '../shared/iso-time.ts'
import { toLimitSet } from '../shared/limits.ts'
import type { ListedKey } from './types.ts'

type Audited = Pick<ListedKey, 'role' | 'account' | 'label' | 'models' | 'budget' | 'expiresAt' | 'limits'>

/** Returns the settings of a key in the form of the admin API, for the audit log. */
export function auditedKey ({ role, account, label, models, budget, expiresAt, limits }: Audited) {
  return {
    role,
    account,
    label,
    models,
    budget: budget === null ? null : { amount_nano: budget.limitNano, period: budget.period },
    expires_at: isoTimeOrNull(expiresAt),
    limits: toLimitSet(limits)
  }
}
