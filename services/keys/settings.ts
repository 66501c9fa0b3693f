import { budgetPeriods } from '../../schemas/admin/keys.ts'
import { GatewayError } from '../shared/errors.ts'
import { isoTimeOrNull } from '../shared/iso-time.ts'
import { limitKinds, limitOfKind, maxLimit, noLimits, toLimitSet, type Limits } from '../shared/limits.ts'
import type { Period } from './periods.ts'

/** The spending limit of a key in integer nano-USD, per period, or in total without one. */
export interface Budget { readonly limitNano: number, readonly period: Period | null }

/** The settings of a key that an operator may change. A new one is here alone, and in its schema. */
export interface KeySettings {
  label: string
  /** Globs of the models it may use, `*` for any text; null for all. */
  models: readonly string[] | null
  budget: Budget | null
  /** Milliseconds since 1970; null if it never expires. */
  expiresAt: number | null
  limits: Limits
}

/** The settings of a new key. */
export const noSettings: Readonly<KeySettings> = Object.freeze({
  label: '', models: null, budget: null, expiresAt: null, limits: noLimits
})

/** The settings as a row of `api_key` has them. */
export interface SettingsRow extends Limits {
  label: string
  /** JSON. */
  models: string | null
  budgetNano: number | null
  budgetPeriod: Period | null
  expiresAt: number | null
}

/** Their columns. */
export const settingsColumns: Readonly<Record<keyof SettingsRow, string>> = {
  label: 'label',
  models: 'models',
  budgetNano: 'budget_nano',
  budgetPeriod: 'budget_period',
  expiresAt: 'expires_at',
  requestsPerMinute: 'requests_per_minute',
  tokensPerMinute: 'tokens_per_minute',
  concurrentRequests: 'concurrent_requests'
}

export function toSettingsRow ({ models, budget, limits, ...plain }: KeySettings): SettingsRow {
  return {
    ...plain,
    ...limits,
    models: models === null ? null : JSON.stringify(models),
    budgetNano: budget?.limitNano ?? null,
    budgetPeriod: budget?.period ?? null
  }
}

/** Replaces the columns of a row by settings. */
export function withSettings<Row extends SettingsRow> (
  { models, budgetNano, budgetPeriod, requestsPerMinute, tokensPerMinute, concurrentRequests, ...row }: Row
) {
  return {
    ...row,
    models: models === null ? null : readModels(models),
    budget: budgetNano === null ? null : { limitNano: budgetNano, period: budgetPeriod },
    limits: { requestsPerMinute, tokensPerMinute, concurrentRequests }
  }
}

/** Returns the settings among the fields of an object; undefined ones are absent. */
export function settingsOf (key: KeySettings): KeySettings
export function settingsOf (key: Partial<KeySettings>): Partial<KeySettings>
export function settingsOf (key: Partial<KeySettings>): Partial<KeySettings> {
  const fields = Object.entries(key).filter(([name, value]) => name in noSettings && value !== undefined)
  return Object.fromEntries(fields)
}

/** Returns settings in the form of the admin API, for the audit log and without figures. */
export function shownSettings ({ models, budget, expiresAt, limits, ...plain }: KeySettings) {
  return {
    ...plain,
    models: models === null ? null : [...models],
    budget: budget === null ? null : { amount_nano: budget.limitNano, period: budget.period },
    expires_at: isoTimeOrNull(expiresAt),
    limits: toLimitSet(limits)
  }
}

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

function readModels (text: string): string[] {
  return JSON.parse(text)
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
