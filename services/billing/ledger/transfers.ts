import { gatewayActor, type Actor } from '../../store/audit.ts'
import { GatewayError } from '../../shared/errors.ts'
import { assertSafe } from '../../shared/money.ts'
import type { Queries, Store } from '../../store/store.ts'
import { lockLines, ownFreeNano, refuseClosed, type AccountLine } from './account-line.ts'
import { bookCredits, isBooked, movementsBetween } from './book-credits.ts'
import { LacksCredit } from './errors.ts'
import { createRecall } from './recall.ts'
import { createStatements } from './sql/statements.ts'

interface Withdrawal {
  /** Chosen by the caller; repeating it is a no-op. */
  id: string
  account: string
  /** Positive integer nano-USD, or all that is neither held nor allocated to accounts below. */
  amountNano: number | 'all'
  reason: string
  at?: number
  actor?: Actor
}

interface Transfer extends Omit<Withdrawal, 'account' | 'reason'> {
  from: string
  to: string
  reason?: string | null
}

export type Transfers = ReturnType<typeof createTransfers>

/**
 * Creates the postings that take credits out of an account. They recall what nodes keep spare for coming
 * requests. Methods return false if this id was booked before, and throw StoreUnavailable, RangeError for
 * unsafe integers, GatewayError 404 for an unknown account, 409 for a closed one or when the id belongs to
 * another posting, LacksCredit.
 */
export function createTransfers (store: Store, clock = store.clock) {
  const statements = createStatements(store.engine)
  const recall = createRecall(store)

  async function takenFrom (
    queries: Queries, line: AccountLine, amountNano: Withdrawal['amountNano'], isLast: boolean
  ): Promise<number> {
    const { id } = line[0]
    const freeNano = await ownFreeNano(queries, line)
    const isAll = amountNano === 'all'
    const takenNano = isAll ? freeNano : amountNano
    const isShort = takenNano <= 0 || takenNano > freeNano
    if (isShort || (isAll && !isLast && await recall.keptNano(queries, id) > 0)) throw new LacksCredit(id)
    return takenNano
  }

  return {
    /** Pays credits out of the books, or out of the accounts above as well. */
    async withdraw (given: Withdrawal): Promise<boolean> {
      const { id, account, amountNano, reason, at = clock(), actor = gatewayActor } = given
      checkAmount(amountNano)
      return await recall.taking(async (queries, isLast) => {
        const terms = { kind: 'withdraw', debit: account, credit: 'funding' } as const
        const [line] = await lockLines(statements, queries, [account])
        if (await isBooked(queries, id, terms, wanted(amountNano))) return false
        refuseClosed(line)
        const takenNano = await takenFrom(queries, line, amountNano, isLast)
        await bookCredits(queries, { id, ...terms, amountNano: takenNano, reason, at, actor },
          movementsBetween(line, null, takenNano))
        return true
      })
    },

    /** Moves credits to another account; to one below or above, it is an allocation or its return. */
    async transfer (given: Transfer): Promise<boolean> {
      const { id, from, to, amountNano, reason = null, at = clock(), actor = gatewayActor } = given
      if (from === to) throw GatewayError.invalidValue('to', 'must be another account')
      checkAmount(amountNano)
      return await recall.taking(async (queries, isLast) => {
        const terms = { kind: 'transfer', debit: from, credit: to } as const
        const [source, destination] = await lockLines(statements, queries, [from, to])
        if (await isBooked(queries, id, terms, wanted(amountNano))) return false
        refuseClosed(source)
        refuseClosed(destination)
        const takenNano = await takenFrom(queries, source, amountNano, isLast)
        await bookCredits(queries, { id, ...terms, amountNano: takenNano, reason, at, actor },
          movementsBetween(source, destination, takenNano))
        return true
      })
    }
  }
}

function wanted (amountNano: Withdrawal['amountNano']): number | undefined {
  return amountNano === 'all' ? undefined : amountNano
}

function checkAmount (amountNano: Withdrawal['amountNano']): void {
  if (amountNano !== 'all' && assertSafe(amountNano) <= 0) {
    throw new RangeError(`The amount must be positive, not ${amountNano}`)
  }
}
