import type { Static } from '@sinclair/typebox'
import type { EntryKind } from '../../schemas/admin/entries.ts'
import type { AdminJob } from '../../schemas/admin/jobs.ts'
import type { LoggedRequestQuery } from '../../schemas/admin/requests.ts'

// The values of the schemas' enumerations. The types say that all of them are right; schemas themselves are
// not part of the console, because TypeBox would double its size.

type AllOf<Value extends string, List extends readonly string[]> =
  [Value] extends [List[number]] ? List : never

function all<Value extends string> () {
  return <const List extends readonly Value[]>(list: List & AllOf<Value, List>): List => list
}

export const outcomeFilters = all<NonNullable<Static<typeof LoggedRequestQuery>['outcome']>>()([
  'succeeded', 'client_gone', 'refused', 'failed', 'broken_off', 'error'
])

export const jobStates = all<AdminJob['state']>()([
  'submitting', 'queued', 'running', 'storing', 'succeeded', 'failed', 'cancelled', 'expired'
])

export const entryKinds = all<Static<typeof EntryKind>>()([
  'deposit', 'withdraw', 'transfer', 'adjust', 'usage', 'refund', 'suspense'
])

/** What the audit log records. */
export const auditActions = [
  'account.close', 'account.create', 'account.freeze', 'account.move', 'account.read_webhook_secret',
  'account.rotate_webhook_secret', 'account.unfreeze', 'account.update', 'catalogue.undo', 'catalogue.update',
  'credit.adjust', 'credit.deposit', 'credit.refund', 'credit.transfer', 'credit.withdraw', 'job.cancel',
  'key.create', 'key.revoke', 'key.rotate', 'key.update', 'provider.probe', 'session.start',
  'suspense.clear', 'suspense.write_off'
]
