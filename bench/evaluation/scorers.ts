import type { ModelRow, Row, TrainingData } from '../../services/routing/training/data.ts'
import { createRandom, textOf } from '../../services/routing/training/data.ts'
import { train } from '../../services/routing/training/train.ts'
import { assumedCapabilities } from '../../services/models/new-model.ts'
import { profileOf, type Profile } from '../../services/routing/scoring/profile.ts'
import { qualityOf } from '../../services/routing/scoring/quality.ts'
import { createUnderstanding } from '../../services/routing/scoring/understand.ts'
import { toWeights } from '../../services/routing/scoring/weights.ts'

/** Expected quality of each model on a prompt. */
export type Scorer = (row: Row, models: readonly string[]) => number[]

/** Our own router, each row scored by one that was trained on the other rows of all benchmarks. */
export function crossScorer (data: TrainingData, folds: number): Scorer {
  const foldOf = new Map(data.rows.map(({ id }, at) => [id, at % folds]))
  const scorers = Array.from({ length: folds }, (_, fold) => {
    return trainedScorer(data, data.rows.filter(({ id }) => foldOf.get(id) !== fold))
  })
  return (row, models) => scorers[foldOf.get(row.id) ?? 0]?.(row, models) ?? []
}

/** Our own router, trained on the given rows. */
export function trainedScorer (data: TrainingData, rows: readonly Row[]): Scorer {
  const weights = toWeights(train(data, rows))
  const understand = createUnderstanding(weights)
  const profiles = new Map<string, Profile>()
  const profile = (model: string) => {
    const known = profiles.get(model) ?? profileOf(described(model, data.models[model]), weights)
    profiles.set(model, known)
    return known
  }
  return (row, models) => {
    const text = understand(textOf(row), {
      tools: row.tools?.length ?? 0,
      turns: row.messages.filter(({ role }) => role === 'user').length,
      promptTokens: textOf(row).length / 4
    })
    return models.map(model => qualityOf(text, profile(model), weights))
  }
}

/** Knows the answers. */
export const oracle: Scorer = (row, models) => models.map(model => row.y[model] ?? 0)

/** Sends each prompt anywhere. */
export function randomScorer (seed: number): Scorer {
  const random = createRandom(seed)
  return (_, models) => {
    const point = random()
    return models.map((_, at) => point * at)
  }
}

/** The longer the prompt, the better the model must be; `models` from the weakest up. */
export const lengthScorer: Scorer = (row, models) => {
  const length = Math.log1p(textOf(row).length) / 12
  return models.map((_, at) => length * at)
}

const hardWords = /\b(prove|derive|algorithm|analy[sz]e|step by step|theorem|optimi[sz]e|complexity|integral|architect|debug|explain why|compare)\b/gi
const easyWords = /\b(what is|define|translate|list|hello|who|when)\b/gi
const codeMarks = /```|\bfunction\b|\bclass\b|\bdef\b|\{|\}/g

/** Counts words that look hard, as the routers by rules do. */
export const keywordScorer: Scorer = (row, models) => {
  const text = textOf(row)
  const count = (pattern: RegExp) => Math.min(4, text.match(pattern)?.length ?? 0)
  const words = count(hardWords) * 0.2 + count(codeMarks) * 0.1 - count(easyWords) * 0.1
  const hard = words + Math.min(1, text.length / 4000)
  return models.map((_, at) => hard * at)
}

function described (name: string, row: ModelRow | undefined) {
  const input = row?.price_in ?? null
  const output = row?.price_out ?? null
  const price = input === null || output === null
    ? null
    : {
        inputPico: Math.round(input * 1e6),
        outputPico: Math.round(output * 1e6),
        cacheReadPico: null,
        cacheWritePico: null,
        imageNano: null,
        secondNano: null
      }
  const capabilities = { ...assumedCapabilities, reasoning: false }
  return { names: [name], quality: {}, created: Date.UTC(2024, 5) / 1000, price, capabilities }
}
