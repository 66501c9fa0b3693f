import { catalogueModel } from './models.ts'
import type { ModelConfig } from './types.ts'

/**
 * How suitable a model is for a pattern such as `*`. `curated`: chosen. `trial`: as good, but free of charge
 * and limited to a few requests. `other`: a chat model that is deprecated, a dated or faster twin, an alias
 * or for one purpose. `sandbox`: canned text. `unfit`: not a chat model.
 */
export type Fitness = 'curated' | 'trial' | 'other' | 'sandbox' | 'unfit'

/** From the first choice to the last resort. */
export const fitnessOrder: readonly Fitness[] = ['curated', 'trial', 'other', 'sandbox', 'unfit']

interface FitnessRule {
  models: RegExp
  fitness: Fitness
  /** Absent for every provider. */
  providers?: readonly string[]
}

/** By model name without its maker, in lower case: catalogues list more models as chat than are. */
const rules: readonly FitnessRule[] = [
  // Classifiers.
  { models: /guard|shield|safety|moderation|gliner|reward|(^|-)pii(-|$)/, fitness: 'unfit' },
  { models: /embed|rerank|retriev|colbert|^(bge|gte|e5)-/, fitness: 'unfit' },
  // Speech and music.
  {
    models: /whisper|orpheus|lyria|magpie|parakeet|voxtral|voice|(^|[-_])(tts|stt|asr|speech|audio|realtime|transcribe|translate)([-_]|$)/,
    fitness: 'unfit'
  },
  { models: /dall-e|imagen|paligemma|diffusion|(^|[-_])(image|video|flux|veo|sora|sdxl|ocr)([-_.\d]|$)/, fitness: 'unfit' },
  // Only the Responses API: openai 7.57.0, resources/shared.d.ts, `ResponsesModel`. Some gateways map them.
  { models: /^(gpt-[\d.]+|o\d)-(pro|codex(?!-spark))|^codex-|deep-research|computer-use/, fitness: 'unfit' },
  // docs.x.ai, "Multi-agent": only the Responses API.
  { models: /multi-agent/, fitness: 'unfit', providers: ['xai', 'azure'] },
  // Only legacy completions; proteins; scenes.
  { models: /^gpt-3\.5-turbo-instruct|^(davinci|babbage)-|^esm(2|fold)|^usd(code|validate)/, fitness: 'unfit' },
  // Edits of files, web searches, screens, other routers.
  { models: /apply|^morph-|(^|-)search(-|$)|ui-tars|customtools|multi-agent|(^|-)router$/, fitness: 'other' },
  // For approved customers of one trade: security, biology, law.
  { models: /(^|-)(cyber|daybreak|mythos|rosalind|law)(-|$)/, fitness: 'other' },
  { models: /^openrouter\//, fitness: 'other' },
  // Every response searches the web, for a fee.
  { models: /^sonar(-|$)/, fitness: 'other' },
  // An alias of a listed model.
  { models: /^~/, fitness: 'other' },
  // Role play.
  {
    models: /mythomax|remm-slerp|weaver|euryale|lunaris|hanami|magnum|rocinante|unslopnemo|cydonia|skyfall|-her$|-rp-|dolphin/,
    fitness: 'other'
  },
  { models: /:free$/, fitness: 'trial' }
]

/**
 * Returns how suitable a model is for a policy that does not name it. `names` has every available
 * `provider/model`; `isSandbox` recognises providers with canned text.
 */
export function fitnessOf (
  { id, deployments }: Pick<ModelConfig, 'id' | 'deployments'>, names: ReadonlySet<string>,
  isSandbox: (provider: string) => boolean
): Fitness {
  let worst: Fitness = 'curated'
  for (const { provider, model } of deployments) {
    const found = isSandbox(provider) ? 'sandbox' : fitnessByName(provider, model)
    if (fitnessOrder.indexOf(found) > fitnessOrder.indexOf(worst)) worst = found
    // The other models are in the operator's configuration.
    const isOffered = id === `${provider}/${model}`
    if (worst === 'curated' && isOffered) worst = fitnessByCatalogue(provider, model, names)
  }
  return worst
}

function fitnessByName (provider: string, model: string): Fitness {
  const full = model.toLowerCase()
  const name = full.slice(full.lastIndexOf('/') + 1)
  const rule = rules.find(({ models, providers }) => {
    return (providers?.includes(provider) ?? true) && (models.test(name) || models.test(full))
  })
  return rule?.fitness ?? 'curated'
}

/** The suitability by catalogue entry, if the name does not exclude the model. */
function fitnessByCatalogue (provider: string, model: string, names: ReadonlySet<string>): Fitness {
  if (isSuperseded(provider, model, names)) return 'other'
  // A free model is a trial: NVIDIA's hosted models, for example, allow 40 requests a minute.
  const price = catalogueModel(provider, model)?.price
  return price?.inputPico === 0 && price.outputPico === 0 ? 'trial' : 'curated'
}

/** Deprecated, or a dated, preview or faster release of a model that is available under its plain name. */
function isSuperseded (provider: string, model: string, names: ReadonlySet<string>): boolean {
  if (catalogueModel(provider, model)?.deprecated === true) return true
  if (isFasterEdition(provider, model, names)) return true
  const plain = model.replace(release, '')
  if (plain === model) return false
  return ['', '-latest', '-0'].some(ending => names.has(`${provider}/${plain}${ending}`))
}

/** Whether this is the faster, more expensive edition of a model available under its plain name. */
function isFasterEdition (provider: string, model: string, names: ReadonlySet<string>): boolean {
  // Fireworks has its faster editions in a separate folder.
  const plain = model.replace(/-(fast|highspeed)$/, '').replace('/routers/', '/models/')
  if (plain === model || !names.has(`${provider}/${plain}`)) return false
  const own = catalogueModel(provider, model)?.price
  const other = catalogueModel(provider, plain)?.price
  return (own?.outputPico ?? 0) > (other?.outputPico ?? Infinity)
}

/** The release suffix of a name, such as `-2024-08-06`, `@20250514`, `-0613`, `-08-2024`. */
const release = /(-preview)?[-@](20\d\d-?\d\d-?\d\d|\d\d-20\d\d|\d\d-\d\d|\d{4})$|-preview$/
