import { hourCachePico } from '../../services/billing/token-price.ts'
import { anthropicTraitsOf } from '../../services/providers/anthropic/model-traits.ts'
import { geminiTraitsOf } from '../../services/providers/gemini/model-traits.ts'
import { isRetired } from './retired.ts'
import type { CatalogueFile, CataloguePrice, CatalogueRow, CatalogueTier, Feature } from '../../services/config/catalogue/catalogue-file.ts'

/** What the source says of a model and the provider's API does not do, or the other way round. */
interface Correction {
  provider: string
  models: RegExp
  add?: Feature
  remove?: Feature
  /** Whether the model takes a temperature. */
  temperature?: boolean
}

const corrections: readonly Correction[] = [
  // The API's first model with schemas is gpt-4o-2024-08-06.
  { provider: 'openai', models: /^gpt-4o-2024-05-13$/, remove: 'json_schema' },
  // developers.openai.com/api/docs/guides/reasoning: models that think take no temperature.
  { provider: 'openai', models: /^gpt-(5\.[6-9]|[6-9])/, add: 'json_schema', temperature: false },
  { provider: 'openrouter', models: /^openai\/gpt-(5\.[6-9]|[6-9])/, add: 'json_schema', temperature: false },
  // docs.mistral.ai, "Custom Structured Outputs": all models.
  { provider: 'mistral', models: /^/, add: 'json_schema' },
  // llm-exe/llm-exe#662: DeepSeek refuses schemas.
  { provider: 'deepseek', models: /^/, remove: 'json_schema' },
  // @perplexity-ai/perplexity_ai 0.38.5: `response_format` of all models.
  { provider: 'perplexity', models: /^sonar/, add: 'json_schema' },
  // @ai-sdk/moonshotai 3.0.60: the sampling of Kimi is fixed.
  { provider: 'moonshot', models: /^kimi-(k2\.[5-9]|k3)/, temperature: false }
]

/** Models that choose another model, at its price: openrouter.ai/docs, "Auto Router"; `-1` in its list. */
const routers = /^(auto|openrouter\/(?!free$).*|.*-router)$/

type Providers = CatalogueFile['providers']

/**
 * The rows with corrections, and with what the adapters make of each Claude and Gemini model, but without the
 * models that are shut down.
 */
export function corrected (providers: Providers): Providers {
  return Object.fromEntries(Object.entries(providers).map(([provider, rows]) => {
    const served = Object.entries(rows).filter(([name]) => !isRetired(provider, name))
    const named = served.map(([name, row]) => [name, correctedRow(provider, name, row)])
    return [provider, Object.fromEntries(named)]
  }))
}

function correctedRow (provider: string, name: string, row: CatalogueRow): CatalogueRow {
  if (row.kind !== 'chat') return row
  if (provider === 'openrouter' && routers.test(name)) {
    const { price, tiers, from, ...unpriced } = row
    return unpriced
  }
  const found = corrections.filter(one => one.provider === provider && one.models.test(name))
  if (provider === 'anthropic') found.push(correctionOfClaude(name))
  if (provider === 'gemini' && name.startsWith('gemini-')) found.push(correctionOfGemini(name))
  let result = row
  for (const { add, remove, temperature = result.temperature } of found) {
    const features = order.filter(one => one === add || (result.features.includes(one) && one !== remove))
    result = { ...result, features, ...(temperature === undefined ? {} : { temperature }) }
  }
  return provider === 'anthropic' ? withHourCache(result) : result
}

/** The source has the price of caches for five minutes alone. */
function withHourCache (row: CatalogueRow): CatalogueRow {
  const { price, tiers } = row
  if (price?.cacheWritePico === undefined) return row
  const add = <Rates extends CataloguePrice | CatalogueTier>(rates: Rates): Rates => {
    return { ...rates, cacheWrite1hPico: hourCachePico(rates.inputPico, rates.cacheWritePico) }
  }
  return { ...row, price: add(price), ...(tiers && { tiers: tiers.map(add) }) }
}

const order: readonly Feature[] = ['tools', 'json_schema', 'reasoning']

function correctionOfGemini (name: string): Correction {
  const isReasoning = geminiTraitsOf(name).efforts !== null
  return { provider: 'gemini', models: /^/, ...(isReasoning ? { add: 'reasoning' } : { remove: 'reasoning' }) }
}

function correctionOfClaude (name: string): Correction {
  const { structured, sampling } = anthropicTraitsOf(name)
  return {
    provider: 'anthropic',
    models: /^/,
    temperature: sampling,
    ...(structured ? { add: 'json_schema' } : { remove: 'json_schema' })
  }
}
