import { sizeOf, nameVariants } from '../../services/routing/scoring/profile.ts'
import type { TrainedModel, WeightsFile } from '../../services/routing/scoring/weights.ts'
import type { ModelRow, TrainingData } from './data.ts'
import { ridge } from './ridge.ts'

type Models = Readonly<Record<string, TrainedModel>>

/** The other names of the trained models; of several versions the latest has the name without a date. */
export function aliasesOf (rows: Readonly<Record<string, ModelRow>>, models: Models): Record<string, string> {
  const aliases: Record<string, string> = {}
  for (const name of Object.keys(models).toSorted()) {
    const names = [name, ...rows[name]?.aliases ?? []].flatMap(nameVariants)
    for (const alias of names) if (!(alias in models)) aliases[alias] = name
  }
  return aliases
}

type ProgrammingRow = TrainingData['programming'][number]

/**
 * Levels of models that are only in the programming benchmark, on the scale of the models that are in both.
 */
export function levelsElsewhere (
  rows: readonly ProgrammingRow[], models: Models, aliases: Readonly<Record<string, string>>
): Record<string, number> {
  const trained = (name: string) => models[aliases[name] ?? name]
  const both = rows.flatMap(row => {
    const level = nameVariants(plainName(row.model)).map(trained).find(one => one !== undefined)?.level
    return level === undefined ? [] : [{ level, odds: oddsOf(row) }]
  })
  const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / Math.max(1, values.length)
  const odds = mean(both.map(one => one.odds))
  const level = mean(both.map(one => one.level))
  const slope = programmingScale(both, odds, level)
  const best: Record<string, number> = {}
  for (const row of rows.filter(({ model }) => !model.includes(' + '))) {
    const estimated = level + slope * (oddsOf(row) - odds)
    for (const name of nameVariants(plainName(row.model))) {
      if (trained(name) === undefined) {
        best[name] = Number(Math.max(best[name] ?? -Infinity, estimated).toFixed(2))
      }
    }
  }
  return best
}

/** Few models are in both, so the slope is clamped to a plausible range. */
function programmingScale (
  both: readonly { level: number, odds: number }[], odds: number, level: number
): number {
  const over = both.reduce((sum, one) => sum + (one.odds - odds) * (one.level - level), 0)
  const under = both.reduce((sum, one) => sum + (one.odds - odds) ** 2, 0)
  return Math.max(0.3, Math.min(0.8, over / (under || 1)))
}

function oddsOf ({ pass_rate_2: percent }: ProgrammingRow): number {
  const share = Math.max(0.02, Math.min(0.98, percent / 100))
  return Math.log(share / (1 - share))
}

function plainName (name: string): string {
  return name.toLowerCase().replace(/ \(.*$/, '').replaceAll(' ', '-')
}

/**
 * Fits the prior of a model's level: by price and size to the trained models, by age and reasoning to the
 * programming benchmark.
 */
export function priorOf (data: TrainingData, models: Models): WeightsFile['prior'] {
  const priced = Object.entries(models).flatMap(([name, { level }]) => {
    const { price_in: input = null, price_out: output = null } = data.models[name] ?? {}
    if (input === null || output === null) return []
    return [{ name, level, logPrice: Math.log((input * 3 + output) / 4) }]
  })
  const [level = 0, perPrice = 0] = ridge(
    priced.map(({ logPrice }) => [1, logPrice]), priced.map(one => one.level), 1
  )
  const residuals = priced.map(one => one.level - level - perPrice * one.logPrice)
  const spread = Math.sqrt(residuals.reduce((sum, one) => sum + one * one, 0) / Math.max(1, residuals.length))
  const sized = Object.entries(models).flatMap(([name, { level }]) => {
    const size = sizeOf([name])
    return size === null ? [] : [{ level, size: Math.log(size / 10) }]
  })
  const [sizeLevel = 0, perSize = 0] = ridge(
    sized.map(({ size }) => [1, size]), sized.map(one => one.level), 1)
  const lines = data.programming.map(row => [1, yearsOf(row), isReasoning(row.model) ? 1 : 0])
  const [, perYear = 0, reasoning = 0] = ridge(lines, data.programming.map(oddsOf), 2)
  const round = (value: number) => Number(value.toFixed(3))
  return {
    level: round(level),
    perPrice: round(Math.max(0, perPrice)),
    sizeLevel: round(sizeLevel),
    perSize: round(Math.max(0, perSize)),
    perYear: round(Math.max(0, Math.min(0.6, perYear * 0.5))),
    reasoning: round(Math.max(0, Math.min(0.8, reasoning * 0.5))),
    spread: round(spread)
  }
}

function yearsOf ({ date }: ProgrammingRow): number {
  return (Date.parse(date) - Date.UTC(2024, 6)) / (365 * 86_400_000)
}

function isReasoning (name: string): boolean {
  return /think|reason|\bo[134]\b|o[134]-|r1|high|qwq/i.test(name)
}

/** Assumed share of the time to the first token in that of the whole answer. */
const firstTokenShare = 0.35

/** Milliseconds to the first token and tokens per second, from the time and length of whole answers. */
export function speedsOf (rows: TrainingData['speeds']): Record<string, [number, number]> {
  return Object.fromEntries(rows.flatMap(row => {
    const name = nameVariants(row.model)[0]
    if (name === undefined) return []
    const { firstTokenMs, tokensPerSecond } = speedOf(row.blockrun_latency_ms, row.blockrun_output_tokens)
    return [[name, [firstTokenMs, tokensPerSecond]]]
  }))
}

function speedOf (answerMs: number, tokens: number) {
  return {
    firstTokenMs: Math.round(answerMs * firstTokenShare),
    tokensPerSecond: Math.round(tokens / (answerMs * (1 - firstTokenShare)) * 1000)
  }
}

/** Fits the speed to the price, for models without measurements. */
export function usualSpeedOf (rows: TrainingData['speeds']): WeightsFile['usualSpeed'] {
  const priced = rows.filter(row => row.price_output_1m > 0)
  const [perToken = 0, perPrice = 0] = ridge(
    priced.map(row => [1, Math.log(row.price_output_1m)]),
    priced.map(row => Math.log(row.blockrun_latency_ms / row.blockrun_output_tokens)), 1
  )
  return { ...speedOf(Math.exp(perToken) * usualTokens, usualTokens), perPrice: Number(perPrice.toFixed(3)) }
}

/** Tokens of the measured answers. */
const usualTokens = 256
