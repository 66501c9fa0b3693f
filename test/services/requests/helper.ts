import { breakerDefaults, requestsDefaults } from '../../../services/config/defaults.ts'
import type { Candidate } from '../../../services/requests/candidates.ts'
import type { DeploymentConfig, Price } from '../../../services/config/catalogue/types.ts'
import { createDeployments } from '../../../services/models/deployments/deployments.ts'
import { UpstreamError, type Sent, type UpstreamErrorKind } from '../../../services/shared/errors.ts'
import { insufficientQuota } from '../../../services/billing/ledger/errors.ts'
import type { Hold, Posting, Reservation } from '../../../services/billing/ledger/ledger.ts'
import type { ChatProvider } from '../../../services/providers/provider.ts'
import { modelFromCatalogue } from '../../../services/config/catalogue/models.ts'

export const limits = { ...requestsDefaults, retries: 2, backoffMs: 100 }

const deployments = createDeployments({ config: () => ({ breaker: breakerDefaults }) })
let made = 0

/** A deployment that was not called yet. */
export function candidate (
  deployment: Partial<DeploymentConfig> = {}, price: Price | null = null
): Candidate {
  const provider: ChatProvider = {
    id: `provider-${made++}`,
    chat: () => { throw new Error('nobody is called here') },
    close: async () => {}
  }
  const full = { provider: provider.id, model: 'm', weight: 1, priority: 0, ...deployment }
  const model = modelFromCatalogue(provider.id, 'm')
  return { model, deployment: full, provider, price, cost: null, health: deployments.of(full) }
}

/** A failure of a kind, by default one that an answer with an error status tells of. */
export function failure (
  kind: UpstreamErrorKind, details: ConstructorParameters<typeof UpstreamError>[3] = { status: 500 }, sent: Sent = 'yes'
): UpstreamError {
  return new UpstreamError(kind, sent, 'It failed.', details)
}

/** A ledger of one account that writes down what happens to its holds. */
export function createFakeLedger (creditNano = 1_000_000_000_000) {
  let freeNano = creditNano
  const events: string[] = []
  const postings: Posting[] = []
  const open = new Map<string, number>()
  const end = (id: string): boolean => {
    freeNano += open.get(id) ?? 0
    return open.delete(id)
  }
  return {
    events,
    postings,
    /** What is held now, in nano-USD. */
    get heldNano () { return [...open.values()].reduce((sum, nano) => sum + nano, 0) },
    /** Each settlement and release resolves with it. */
    written: Promise.resolve(),
    async means () { return { availableNano: freeNano, unspentNano: freeNano } },
    forget (id: string) { events.push(`forget ${id}`) },
    reserve ({ id, amountNano }: Reservation): Hold | Promise<Hold> {
      events.push(`hold ${amountNano}`)
      if (amountNano > freeNano) {
        const refusal = { of: 'account', balanceNano: freeNano, heldNano: 0, neededNano: amountNano } as const
        return Promise.reject(insufficientQuota(refusal))
      }
      freeNano -= amountNano
      open.set(id, amountNano)
      let chargedNano = 0
      return {
        id,
        amountNano,
        get chargedNano () { return chargedNano },
        settle: posting => {
          if (!(posting.amountNano >= 0)) throw new RangeError(`not a cost: ${posting.amountNano}`)
          chargedNano = Math.min(posting.amountNano, amountNano)
          if (end(id)) events.push(`settle ${posting.amountNano}`)
          freeNano -= chargedNano
          postings.push(posting)
          return this.written
        },
        suspend: posting => {
          if (end(id)) events.push(`suspend ${posting.amountNano}`)
          return this.written
        },
        release: () => {
          if (end(id)) events.push(`release ${amountNano}`)
          return this.written
        }
      }
    }
  }
}
