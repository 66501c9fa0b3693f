import type { ModelRow, TrainingRow, TrainingData } from '../../tools/routing/data.ts'
import { followUpText } from '../../services/routing/text/prompt-text.ts'
import { createRandom, rowText } from '../../tools/routing/data.ts'
import { train } from '../../tools/routing/train.ts'
import { createProfile, type ModelProfile } from '../../services/routing/scoring/profile.ts'
import { predictQuality } from '../../services/routing/scoring/quality.ts'
import { createTextAnalyzer } from '../../services/routing/scoring/analyze-text.ts'
import { unpackWeights, type RouterWeights } from '../../services/routing/scoring/weights.ts'
import { assumedCapabilities } from '../../services/config/catalogue/models.ts'

/** Expected quality of each model on a prompt. */
export type Scorer = (row: TrainingRow, models: readonly string[]) => number[]

/** The weights that a row is to be judged with. */
export type WeightsOf = (row: TrainingRow) => RouterWeights

/** For each row the weights learned from the other rows of all benchmarks. */
export function trainByFolds (data: TrainingData, folds: number): WeightsOf {
  const foldOf = new Map(data.rows.map(({ id }, at) => [id, at % folds]))
  const learned = Array.from({ length: folds }, (_, fold) => {
    return trainOn(data, data.rows.filter(({ id }) => foldOf.get(id) !== fold))
  })
  return ({ id }) => learned[foldOf.get(id) ?? 0] as RouterWeights
}

/** For each row the weights learned from all benchmarks but its own. */
export function trainWithoutOwnBenchmark (data: TrainingData): WeightsOf {
  const learned = new Map<string, RouterWeights>()
  return ({ family }) => {
    const weights = learned.get(family) ?? trainOn(data, data.rows.filter(row => row.family !== family))
    learned.set(family, weights)
    return weights
  }
}

export function trainOn (data: TrainingData, rows: readonly TrainingRow[]): RouterWeights {
  return unpackWeights(train(data, rows))
}

/** Our own router. */
export function tollgateScorer (data: TrainingData, weightsOf: WeightsOf): Scorer {
  const scorers = new Map<RouterWeights, Scorer>()
  return (row, models) => {
    const weights = weightsOf(row)
    const scorer = scorers.get(weights) ?? createScorer(data, weights)
    scorers.set(weights, scorer)
    return scorer(row, models)
  }
}

function createScorer (data: TrainingData, weights: RouterWeights): Scorer {
  const analyze = createTextAnalyzer(weights)
  const profiles = new Map<string, ModelProfile>()
  const profile = (model: string) => {
    const known = profiles.get(model) ?? createProfile(toCatalogueModel(model, data.models[model]), weights)
    profiles.set(model, known)
    return known
  }
  return (row, models) => {
    const text = analyze(rowText(row), {
      tools: row.tools?.length ?? 0,
      turns: row.messages.filter(({ role }) => role === 'user').length,
      followUp: followUpText(row.messages),
      promptTokens: rowText(row).length / 4
    })
    return models.map(model => predictQuality(text, profile(model), weights))
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
  const length = Math.log1p(rowText(row).length) / 12
  return models.map((_, at) => length * at)
}

const hardWords = /\b(prove|derive|algorithm|analy[sz]e|step by step|theorem|optimi[sz]e|complexity|integral|architect|debug|explain why|compare)\b/gi
const easyWords = /\b(what is|define|translate|list|hello|who|when)\b/gi
const codeMarks = /```|\bfunction\b|\bclass\b|\bdef\b|\{|\}/g

/** Counts words that look hard, as the routers by rules do. */
export const keywordScorer: Scorer = (row, models) => {
  const text = rowText(row)
  const count = (pattern: RegExp) => Math.min(4, text.match(pattern)?.length ?? 0)
  const words = count(hardWords) * 0.2 + count(codeMarks) * 0.1 - count(easyWords) * 0.1
  const hard = words + Math.min(1, text.length / 4000)
  return models.map((_, at) => hard * at)
}

/** A model as the catalogue has it. */
export function toCatalogueModel (name: string, row: ModelRow | undefined) {
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
