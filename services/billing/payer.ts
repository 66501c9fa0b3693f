import type { Tags } from './ledger/ledger.ts'

/** Who pays for a request. */
export interface Payer {
  /** Id of the key. */
  key: string
  /** The accounts that must each cover the request, the paying one first. */
  chain: readonly string[]
  /** By which its usage is reported; null or absent: none. */
  tags?: Tags | null
}
