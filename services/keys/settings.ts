import { budgetPeriods } from '../../schemas/admin/keys.ts'
import { GatewayError } from '../shared/errors.ts'
import { limitKinds, limitOfKind, maxLimit, type Limits } from '../shared/limits.ts'
import type { Budget, KeySettings } from './types.ts'

const maxLabelLength = 200
const maxGlobs = 100
const maxGlobLength = 256
const maxGraceMs = 366 * 24 * 3_600_000

/** Throws GatewayError 400, which names the field, for invalid settings. */
export function refuseWrongSettings ({ label, models, budget, expiresAt, limits }: KeySettings): void {
  if (label.length > maxLabelLength) refuse('label', `must have at most ${maxLabelLength} characters`)
  if (models !== null) refuseWrongModels(models)
  if (budget !== null) refuseWrongBudget(budget)
  refuseWrongLimits(limits)
  if (expiresAt !== null && (!Number.isSafeInteger(expiresAt) || expiresAt < 0)) {
    refuse('expires_at', 'must not be before 1970')
  }
}

/** Throws GatewayError 400 for an invalid grace period. */
export function refuseWrongGrace (graceMs: number): void {
  if (!Number.isSafeInteger(graceMs) || graceMs < 0 || graceMs > maxGraceMs) {
    refuse('grace_ms', 'must be an integer in milliseconds, from 0 to 366 days')
  }
}

function refuseWrongLimits (limits: Limits): void {
  for (const kind of limitKinds) {
    const limit = limitOfKind(limits, kind)
    const isValid = limit === null || (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit)
    if (!isValid) refuse('limits', `each limit must be an integer from 1 to ${maxLimit}, or null`)
  }
}

function refuseWrongModels (models: readonly string[]): void {
  if (models.length > maxGlobs) refuse('models', `must have at most ${maxGlobs} patterns`)
  const wrong = models.find((glob) => glob === '' || glob.length > maxGlobLength)
  if (wrong !== undefined) refuse('models', `each pattern must have 1 to ${maxGlobLength} characters`)
}

function refuseWrongBudget ({ limitNano, period }: Budget): void {
  if (!Number.isSafeInteger(limitNano) || limitNano < 0) refuse('budget', 'must not be below zero')
  if (period !== null && !budgetPeriods.includes(period)) {
    refuse('budget', `the period must be one of ${budgetPeriods.join(', ')}, or null`)
  }
}

function refuse (param: string, why: string): never {
  throw GatewayError.invalidValue(param, why)
}
