import { gatewayActor, recordChange, type Actor } from '../../store/audit.ts'
import { toLimitSet, type Limits } from '../../shared/limits.ts'
import type { Queries, Store } from '../../store/store.ts'
import { lockLines, refuseClosed, type AccountLine } from './account-line.ts'
import { unknownAccount } from './errors.ts'
import { createStatements } from './sql/statements.ts'

/** What operators are told about an account. */
export interface WatchedAmounts {
  /** What it should not spend more than, in each period or in total; integer nano-USD. */
  softBudget: { limitNano: number, period: 'day' | 'week' | 'month' | null } | null
  /** The balance below which it is low; null: that of the configuration. */
  lowBalanceNano: number | null
}

interface AccountSettings extends WatchedAmounts { name: string, limits: Limits }

/** Creates the changes of accounts. Methods throw StoreUnavailable, GatewayError 404, 409 if closed. */
export function createAccountChanges (store: Store, clock = store.clock) {
  const statements = createStatements(store.engine)

  async function change<Result> (
    id: string, work: (queries: Queries, line: AccountLine) => Promise<Result>
  ): Promise<Result> {
    return await store.transaction(async queries => {
      const [line] = await lockLines(statements, queries, [id])
      refuseClosed(line)
      return await work(queries, line)
    })
  }

  async function setFrozen (
    id: string, frozenAt: number | null, reason: string | null, actor: Actor
  ): Promise<void> {
    await change(id, async (queries, [account]) => {
      if ((account.frozenAt === null) === (frozenAt === null)) return
      await queries.run('update account set frozen_at = $2 where id = $1', [id, frozenAt])
      await recordChange(queries, {
        actor,
        action: frozenAt === null ? 'account.unfreeze' : 'account.freeze',
        target: `account:${id}`,
        before: { frozen: frozenAt === null },
        after: { frozen: frozenAt !== null, ...(reason !== null && { reason }) },
        at: clock()
      })
    })
  }

  return {
    /** Sets what `toNew` returns, in every process within 2 s. */
    async update (
      id: string, toNew: (before: AccountSettings) => AccountSettings, actor = gatewayActor
    ): Promise<void> {
      await change(id, async queries => {
        const before = await readSettings(queries, id)
        const after = toNew(before)
        await queries.run(`
          update account set name = $2, requests_per_minute = $3, tokens_per_minute = $4, concurrent_requests = $5,
            soft_budget = $6, soft_budget_period = $7, low_balance = $8
          where id = $1`, [id, after.name, ...limitValues(after.limits), ...watchedValues(after)])
        const facts = { before: auditedSettings(before), after: auditedSettings(after) }
        await recordChange(queries, { actor, action: 'account.update', target: `account:${id}`, ...facts, at: clock() })
      })
    },

    /** Refuses its keys, and those of the accounts below, on every node within 2 s. Running requests end. */
    async freeze (id: string, reason: string | null = null, actor = gatewayActor): Promise<void> {
      await setFrozen(id, clock(), reason, actor)
    },

    async unfreeze (id: string, reason: string | null = null, actor = gatewayActor): Promise<void> {
      await setFrozen(id, null, reason, actor)
    }
  }
}

interface SettingsRow extends Limits, WatchedColumns { name: string }

async function readSettings (queries: Queries, id: string): Promise<AccountSettings> {
  const row = await queries.get<SettingsRow>(`
    select name, ${watchedColumns}, requests_per_minute as "requestsPerMinute", tokens_per_minute as "tokensPerMinute",
      concurrent_requests as "concurrentRequests" from account where id = $1`, [id])
  if (row === undefined) throw unknownAccount(id)
  const { name, softBudgetNano, softBudgetPeriod, lowBalanceNano, ...limits } = row
  return { name, limits, ...toWatched({ softBudgetNano, softBudgetPeriod, lowBalanceNano }) }
}

function auditedSettings ({ name, limits, softBudget, lowBalanceNano }: AccountSettings) {
  const budget = softBudget === null ? null : { amount_nano: softBudget.limitNano, period: softBudget.period }
  return { name, limits: toLimitSet(limits), soft_budget: budget, low_balance_nano: lowBalanceNano }
}

/** The columns of what is watched of an account. */
export interface WatchedColumns {
  softBudgetNano: number | null
  softBudgetPeriod: NonNullable<WatchedAmounts['softBudget']>['period']
  lowBalanceNano: number | null
}

export const watchedColumns = `
  soft_budget as "softBudgetNano", soft_budget_period as "softBudgetPeriod", low_balance as "lowBalanceNano"`

/** Converts the columns of what is watched. */
export function toWatched (
  { softBudgetNano, softBudgetPeriod, lowBalanceNano }: WatchedColumns
): WatchedAmounts {
  const softBudget = softBudgetNano === null ? null : { limitNano: softBudgetNano, period: softBudgetPeriod }
  return { softBudget, lowBalanceNano }
}

function watchedValues ({ softBudget, lowBalanceNano }: WatchedAmounts) {
  return [softBudget?.limitNano ?? null, softBudget?.period ?? null, lowBalanceNano]
}

/** Returns limits in the order of the columns. */
export function limitValues ({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Limits) {
  return [requestsPerMinute, tokensPerMinute, concurrentRequests]
}
