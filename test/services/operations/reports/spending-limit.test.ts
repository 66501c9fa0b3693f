import t from 'tap'
import type { Budget, KeyRecord } from '../../../../services/keys/types.ts'
import { noSettings } from '../../../../services/keys/settings.ts'
import { noLimits } from '../../../../services/shared/limits.ts'
import { spendingLimit } from '../../../../services/operations/reports/spending-limit.ts'

const now = 1_000

/** A key that spends from a chain of accounts. */
function keyOf (chain: string[], budget: Budget | null = null): KeyRecord {
  return {
    ...noSettings,
    id: 'k',
    role: 'user',
    accountState: 'active',
    account: chain[0] ?? '',
    budget,
    revokedAt: null,
    limits: [{ ...noLimits, scope: 'key:k' }],
    mayUse: () => true,
    chainAt: (at) => at === now ? chain : []
  }
}

/** Reads balances of [credits, spent], in nano-USD. */
const balances = (accounts: Record<string, [number, number]>) => async (id: string) => {
  const [creditsNano, spentNano] = accounts[id] ?? [NaN, NaN]
  return { creditsNano, spentNano, heldNano: 0, availableNano: creditsNano - spentNano }
}

t.test('without a budget the limit is what the account spent, plus the least left in its chain', async (t) => {
  const read = balances({ team: [100, 40], acme: [500, 480] })
  t.equal(await spendingLimit(keyOf(['team']), now, read), 100)
  t.equal(await spendingLimit(keyOf(['team', 'acme']), now, read), 60)
})

t.test('with a budget the limit counts what was spent of the budget', async (t) => {
  const budget = { limitNano: 30, period: null }
  const read = balances({ team: [100, 95], 'budget:k': [30, 10], rich: [1_000, 0] })
  t.equal(await spendingLimit(keyOf(['rich', 'budget:k'], budget), now, read), 30)
  t.equal(await spendingLimit(keyOf(['team', 'budget:k'], budget), now, read), 15)
})

t.test('an overdrawn account has no negative limit, and errors of a balance are passed on', async (t) => {
  const read = balances({ team: [0, 5], acme: [10, 100] })
  t.equal(await spendingLimit(keyOf(['team', 'acme']), now, read), 0)
  const failing = async () => { throw new Error('gone') }
  await t.rejects(spendingLimit(keyOf(['team']), now, failing), { message: 'gone' })
})
