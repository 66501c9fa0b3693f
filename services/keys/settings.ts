import { budgetPeriods } from '../../schemas/admin/keys.ts'
import { GatewayError } from '../shared/errors.ts'
import { isoTimeOrNull } from '../shared/iso-time.ts'
import { limitKinds, limitOfKind, maxLimit, noLimits, toLimitSet, type Limits } from '../shared/limits.ts'
import type { RegionList } from '../shared/regions.ts'
import type { Period } from './periods.ts'

/** The spending limit of a key in integer nano-USD, per period, or in total without one. */
export interface Budget { readonly limitNano: number, readonly period: Period | null }

/** The settings of a key that an operator may change. A new one is here alone, and in its schema. */
export interface KeySettings {
  label: string
  /** Globs of the models it may use, `*` for any text; null for all. */
  models: readonly string[] | null
  /** Globs of the regions where its requests may be processed; null for all. */
  regions: RegionList
  budget: Budget | null
  /** Milliseconds since 1970; null if it never expires. */
  expiresAt: number | null
  limits: Limits
}

/** The settings of a new key. */
export const noSettings: Readonly<KeySettings> = Object.freeze({
  label: '', models: null, regions: null, budget: null, expiresAt: null, limits: noLimits
})

/** The settings as a row of `api_key` has them. */
export interface SettingsRow extends Limits {
  label: string
  /** JSON, as are the regions. */
  models: string | null
  regions: string | null
  budgetNano: number | null
  budgetPeriod: Period | null
  expiresAt: number | null
}

/** Their columns. */
export const settingsColumns: Readonly<Record<keyof SettingsRow, string>> = {
  label: 'label',
  models: 'models',
  regions: 'regions',
  budgetNano: 'budget_nano',
  budgetPeriod: 'budget_period',
  expiresAt: 'expires_at',
  requestsPerMinute: 'requests_per_minute',
  tokensPerMinute: 'tokens_per_minute',
  concurrentRequests: 'concurrent_requests'
}

export function toSettingsRow ({ models, regions, budget, limits, ...plain }: KeySettings): SettingsRow {
  return {
    ...plain,
    ...limits,
    models: models === null ? null : JSON.stringify(models),
    regions: regions === null ? null : JSON.stringify(regions),
    budgetNano: budget?.limitNano ?? null,
    budgetPeriod: budget?.period ?? null
  }
}

/** Replaces the columns of a row by settings. */
export function withSettings<Row extends SettingsRow> (
  { models, regions, budgetNano, budgetPeriod, ...settings }: Row
) {
  const { requestsPerMinute, tokensPerMinute, concurrentRequests, ...row } = settings
  return {
    ...row,
    models: models === null ? null : readGlobs(models),
    regions: regions === null ? null : readGlobs(regions),
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
export function shownSettings ({ models, regions, budget, expiresAt, limits, ...plain }: KeySettings) {
  return {
    ...plain,
    models: models === null ? null : [...models],
    regions: regions === null ? null : [...regions],
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
export function refuseWrongSettings (settings: KeySettings): void {
  const { label, models, regions, budget, expiresAt, limits } = settings
  if (label.length > maxLabelLength) refuse('label', `must have at most ${maxLabelLength} characters`)
  if (models !== null) refuseWrongGlobs('models', models)
  if (regions !== null) refuseWrongGlobs('regions', regions)
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

function readGlobs (text: string): string[] {
  return JSON.parse(text)
}

function refuseWrongLimits (limits: Limits): void {
  for (const kind of limitKinds) {
    const limit = limitOfKind(limits, kind)
    const isValid = limit === null || (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit)
    if (!isValid) refuse('limits', `each limit must be an integer from 1 to ${maxLimit}, or null`)
  }
}

function refuseWrongGlobs (field: string, globs: readonly string[]): void {
  if (globs.length > maxGlobs) refuse(field, `must have at most ${maxGlobs} patterns`)
  const wrong = globs.find((glob) => glob === '' || glob.length > maxGlobLength)
  if (wrong !== undefined) refuse(field, `each pattern must have 1 to ${maxGlobLength} characters`)
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
