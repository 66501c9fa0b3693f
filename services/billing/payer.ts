/** Who pays for a request. */
export interface Payer {
  /** Id of the key. */
  key: string
  /** The accounts that must each cover the request, the paying one first. */
  chain: readonly string[]
}
