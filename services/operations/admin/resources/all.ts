import type { AdminOperation } from '../operation.ts'
import { accountOperations } from './accounts.ts'
import { alertOperations } from './alerts.ts'
import { auditOperations } from './audit.ts'
import { bookOperations } from './books.ts'
import { entryOperations } from './entries.ts'
import { holdOperations } from './holds.ts'
import { jobOperations } from './jobs.ts'
import { keyOperations } from './keys.ts'
import { ledgerOperations } from './ledger.ts'
import { meOperations } from './me.ts'
import { mediaOperations } from './media.ts'
import { postingOperations } from './postings.ts'
import { providerOperations } from './providers.ts'
import { requestOperations } from './requests.ts'
import { suspenseOperations } from './suspense.ts'
import { usageOperations } from './usage.ts'

/** The operations of each resource, in the order of the OpenAPI document. */
export const adminResources: Readonly<Record<string, readonly AdminOperation[]>> = {
  me: meOperations,
  accounts: accountOperations,
  postings: postingOperations,
  books: bookOperations,
  entries: entryOperations,
  holds: holdOperations,
  usage: usageOperations,
  ledger: ledgerOperations,
  suspense: suspenseOperations,
  keys: keyOperations,
  requests: requestOperations,
  jobs: jobOperations,
  media: mediaOperations,
  audit: auditOperations,
  alerts: alertOperations,
  providers: providerOperations
}
