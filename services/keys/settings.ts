import { GatewayError } from '../shared/errors.ts'
import { limitKinds, limitOfKind, maxLimit } from '../shared/limits.ts'
import type { Limits } from '../shared/limits.ts'
import { periods } from './periods.ts'
import type { Budget, KeySettings } from './rows.ts'

const maxLabelLength = 200
const maxGlobs = 100
const maxGlobLength = 256
const maxGraceMs = 366 * 24 * 3_600_000

/** Throws GatewayError 400, which names the field, when settings of a key make no sense. */
export function refuseWrongSettings ({ label, models, budget, expiresAt, limits }: KeySettings): void {
  if (label.length > maxLabelLength) refuse('label', `A label has at most ${maxLabelLength} characters.`)
  if (models !== null) refuseWrongModels(models)
  if (budget !== null) refuseWrongBudget(budget)
  refuseWrongLimits(limits)
  if (expiresAt !== null && (!Number.isSafeInteger(expiresAt) || expiresAt < 0)) {
    refuse('expires_at', 'The time of expiry is an integer in milliseconds.')
  }
}

/** Throws GatewayError 400 for a time that a replaced secret cannot go on for. */
export function refuseWrongGrace (graceMs: number): void {
  if (!Number.isSafeInteger(graceMs) || graceMs < 0 || graceMs > maxGraceMs) {
    refuse('grace_ms', 'A replaced secret goes on for an integer of milliseconds, from 0 to 366 days.')
  }
}

/** Throws GatewayError 400 when a limit is none that can be kept. */
export function refuseWrongLimits (limits: Limits): void {
  for (const kind of limitKinds) {
    const limit = limitOfKind(limits, kind)
    const isGood = limit === null || (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit)
    if (!isGood) refuse('limits', `A limit is an integer from 1 to ${maxLimit}, or null.`)
  }
}

function refuseWrongModels (models: readonly string[]): void {
  if (models.length > maxGlobs) refuse('models', `A key has at most ${maxGlobs} names of models.`)
  const wrong = models.find((glob) => glob === '' || glob.length > maxGlobLength)
  if (wrong !== undefined) refuse('models', `The name of a model has 1 to ${maxGlobLength} characters.`)
}

function refuseWrongBudget ({ limitNano, period }: Budget): void {
  if (!Number.isSafeInteger(limitNano) || limitNano < 0) {
    refuse('budget', 'A budget is a safe integer in nano-USD, not below zero.')
  }
  if (period !== null && !periods.includes(period)) {
    refuse('budget', `The period of a budget is one of ${periods.join(', ')}, or null.`)
  }
}

function refuse (param: string, message: string): never {
  throw GatewayError.invalidRequest(message, { param, code: 'invalid_value' })
}
