import { createProfile, kindsOfDomain, nameVariants } from '../../services/routing/scoring/profile.ts'
import { loadPublishedLevels, publishedLevel, type LevelsFile } from '../../services/routing/scoring/published-levels.ts'
import { domains, type RouterWeights } from '../../services/routing/scoring/weights.ts'
import type { TrainingData } from '../../tools/routing/data.ts'
import { toCatalogueModel } from './scorers.ts'

/** How far the levels of models that are predicted without their outcomes are off, in log-odds. */
export interface LevelError { domain: string, models: number, guessed: number, published: number }

/**
 * Predicts the level of each trained model in each domain as if it were not in the training data, with and
 * without the published levels, and compares both with its outcomes. Only differences between models count.
 */
export function levelErrors (
  data: TrainingData, weights: RouterWeights, published = loadPublishedLevels()
): LevelError[] {
  const none: LevelsFile = { ...published, models: {} }
  return domains.flatMap((domain, at) => {
    const kinds = kindsOfDomain[domain] ?? []
    const lines = Object.entries(weights.models).flatMap(([name, trained]) => {
      const own = kinds.map(kind => trained.kinds[weights.kinds.indexOf(kind)] ?? 0)
        .filter(offset => offset !== 0)
      if (own.length === 0 || publishedLevel(nameVariants(name), domain, published) === undefined) return []
      const { [name]: _, ...models } = weights.models
      const others = { ...weights, models, aliases: {}, levels: {} }
      const levelIn = (table: LevelsFile) =>
        createProfile(toCatalogueModel(name, data.models[name]), others, table).levels[at] ?? 0
      const truth = trained.level + own.reduce((sum, offset) => sum + offset, 0) / own.length
      return [{ truth, guessed: levelIn(none), published: levelIn(published) }]
    })
    if (lines.length < 3) return []
    const error = (levelOf: (line: typeof lines[number]) => number) => {
      const off = lines.map(line => levelOf(line) - line.truth)
      const mean = off.reduce((sum, one) => sum + one, 0) / off.length
      return Math.sqrt(off.reduce((sum, one) => sum + (one - mean) ** 2, 0) / off.length)
    }
    const [guessed, measured] = [error(line => line.guessed), error(line => line.published)]
    return [{ domain, models: lines.length, guessed, published: measured }]
  })
}
