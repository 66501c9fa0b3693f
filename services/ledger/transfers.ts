import { gatewayActor, type Actor } from '../audit/audit.ts'
import { GatewayError } from '../shared/errors.ts'
import { assertSafe } from '../shared/money.ts'
import type { Queries, Store } from '../store/store.ts'
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

  async function take (
    account: string, amountNano: Withdrawal['amountNano'], work: (queries: Queries) => Promise<boolean>
  ): Promise<boolean> {
    if (amountNano === 'all') await recall.spare(account)
    else if (assertSafe(amountNano) <= 0) throw new RangeError(`The amount must be positive, not ${amountNano}`)
    return await recall.whileLacking(() => store.transaction(work))
  }

  return {
    /** Pays credits out of the books, or out of the accounts above as well. */
    async withdraw (given: Withdrawal): Promise<boolean> {
      const { id, account, amountNano, reason, at = clock(), actor = gatewayActor } = given
      return await take(account, amountNano, async queries => {
        const terms = { kind: 'withdraw', debit: account, credit: 'funding' } as const
        const [line] = await lockLines(statements, queries, [account])
        if (await isBooked(queries, id, terms, wanted(amountNano))) return false
        refuseClosed(line)
        const takenNano = await takenFrom(queries, line, amountNano)
        await bookCredits(queries, { id, ...terms, amountNano: takenNano, reason, at, actor },
          movementsBetween(line, null, takenNano))
        return true
      })
    },

    /** Moves credits to another account; to one below or above, it is an allocation or its return. */
    async transfer (given: Transfer): Promise<boolean> {
      const { id, from, to, amountNano, reason = null, at = clock(), actor = gatewayActor } = given
      if (from === to) throw GatewayError.invalidValue('to', 'must be another account')
      return await take(from, amountNano, async queries => {
        const terms = { kind: 'transfer', debit: from, credit: to } as const
        const [source, destination] = await lockLines(statements, queries, [from, to])
        if (await isBooked(queries, id, terms, wanted(amountNano))) return false
        refuseClosed(source)
        refuseClosed(destination)
        const takenNano = await takenFrom(queries, source, amountNano)
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

async function takenFrom (
  queries: Queries, line: AccountLine, amountNano: Withdrawal['amountNano']
): Promise<number> {
  const freeNano = await ownFreeNano(queries, line)
  const takenNano = amountNano === 'all' ? freeNano : amountNano
  if (takenNano <= 0 || takenNano > freeNano) throw new LacksCredit(line[0].id)
  return takenNano
}
