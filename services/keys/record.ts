import { compileGlob } from '../shared/glob.ts'
import type { OpenBudget } from './budgets.ts'
import { hasLimits } from '../shared/limits.ts'
import type { ScopedLimits } from '../shared/limits.ts'
import type { Budget, KeyRole, KeyWithParents } from './rows.ts'

/** Whom a request belongs to; times in milliseconds. */
export interface KeyRecord {
  readonly id: string
  readonly role: KeyRole
  readonly account: string
  readonly label: string
  /** Globs of the models it may use; null: all. */
  readonly models: readonly string[] | null
  readonly budget: Budget | null
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /** Its own limits and those of its accounts, where there are any. */
  readonly limits: readonly ScopedLimits[]
  /** Whether one of `models` matches a model's public id. */
  mayUse (model: string): boolean
  /**
   * The accounts that each request must fit into, all of them in the database: the one that pays, those it is
   * part of, and the key's budget for the period that `now` is in.
   */
  chainAt (now: number): readonly string[]
}

/** Creates the record of a key, with everything prepared that each request asks for. */
export function createRecord (key: KeyWithParents, openBudget: OpenBudget | null): KeyRecord {
  const { id, role, account, label, models, budget, expiresAt, revokedAt } = key
  return Object.freeze({
    id,
    role,
    account,
    label,
    models,
    budget,
    expiresAt,
    revokedAt,
    limits: limitsOf(key),
    mayUse: matcherOf(models),
    chainAt: chainsOf([account, ...key.parents], openBudget)
  })
}

function limitsOf ({ id, account, parents, limits, accountLimits }: KeyWithParents): readonly ScopedLimits[] {
  const scoped = [account, ...parents].flatMap((account, index) => {
    const own = accountLimits[index]
    return own === undefined ? [] : [{ scope: `account:${account}`, ...own }]
  })
  return Object.freeze([{ scope: `key:${id}`, ...limits }, ...scoped].filter(hasLimits))
}

function matcherOf (models: readonly string[] | null): KeyRecord['mayUse'] {
  if (models === null) return () => true
  const globs = models.map(compileGlob)
  return (model) => globs.some((matches) => matches(model))
}

function chainsOf (accounts: readonly string[], budget: OpenBudget | null): KeyRecord['chainAt'] {
  if (budget === null) {
    const chain = Object.freeze([...accounts])
    return () => chain
  }
  const { account, endsAt, next } = budget
  const current = Object.freeze([...accounts, account])
  // Where the next account is not there yet, the request is older than that and counts where it began.
  const following = next === null ? current : Object.freeze([...accounts, next])
  return (now) => now < endsAt ? current : following
}
