import { catalogueModel } from './models.ts'
import type { ModelConfig } from './types.ts'

/**
 * Whether a pattern such as `*` chooses a model. `curated`: it does. `trial`: as good, but free of charge and
 * limited to a few requests. `other`: it can chat, but is deprecated, a dated or faster twin, an alias or for
 * one purpose. `sandbox`: canned text. `unfit`: it cannot chat.
 */
export type Fitness = 'curated' | 'trial' | 'other' | 'sandbox' | 'unfit'

/** From the first choice to the last resort. */
export const fitnessOrder: readonly Fitness[] = ['curated', 'trial', 'other', 'sandbox', 'unfit']

interface FitnessRule {
  models: RegExp
  fitness: Fitness
  /** Absent: at every provider. */
  providers?: readonly string[]
}

/** By a model's name without its maker, in lower case: a catalogue lists more as chat than is made for it. */
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
  // The Responses API alone: openai 7.57.0, resources/shared.d.ts, `ResponsesModel`. Some gateways map them.
  { models: /^(gpt-[\d.]+|o\d)-(pro|codex(?!-spark))|^codex-|deep-research|computer-use/, fitness: 'unfit' },
  // docs.x.ai, "Multi-agent": the Responses API alone.
  { models: /multi-agent/, fitness: 'unfit', providers: ['xai', 'azure'] },
  // Legacy completions alone; proteins; scenes.
  { models: /^gpt-3\.5-turbo-instruct|^(davinci|babbage)-|^esm(2|fold)|^usd(code|validate)/, fitness: 'unfit' },
  // Edits of files, web searches, screens, other routers.
  { models: /apply|^morph-|(^|-)search(-|$)|ui-tars|customtools|multi-agent|(^|-)router$/, fitness: 'other' },
  { models: /^openrouter\//, fitness: 'other' },
  // Each answer searches the web, at a fee.
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
 * Returns how fit a model is for a policy that does not name it. `names` has every `provider/model` on offer,
 * `isSandbox` tells providers with canned text.
 */
export function fitnessOf (
  { id, deployments }: Pick<ModelConfig, 'id' | 'deployments'>, names: ReadonlySet<string>,
  isSandbox: (provider: string) => boolean
): Fitness {
  let worst: Fitness = 'curated'
  for (const { provider, model } of deployments) {
    const found = isSandbox(provider) ? 'sandbox' : fitnessByName(provider, model)
    if (fitnessOrder.indexOf(found) > fitnessOrder.indexOf(worst)) worst = found
    // The operator has put the others into the configuration.
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

/** The fitness, by its catalogue entry, of a model that its name does not rule out. */
function fitnessByCatalogue (provider: string, model: string, names: ReadonlySet<string>): Fitness {
  if (isSuperseded(provider, model, names)) return 'other'
  // What costs nothing is a trial: NVIDIA's hosted models, for example, allow 40 requests a minute.
  const price = catalogueModel(provider, model)?.price
  return price?.inputPico === 0 && price.outputPico === 0 ? 'trial' : 'curated'
}

/** Deprecated, or a dated, preview or faster release of a model that is on offer under its plain name. */
function isSuperseded (provider: string, model: string, names: ReadonlySet<string>): boolean {
  if (catalogueModel(provider, model)?.deprecated === true) return true
  if (isFasterEdition(provider, model, names)) return true
  const plain = model.replace(release, '')
  if (plain === model) return false
  return ['', '-latest', '-0'].some(ending => names.has(`${provider}/${plain}${ending}`))
}

/** Whether it is a model on offer under its plain name, served faster at a higher price. */
function isFasterEdition (provider: string, model: string, names: ReadonlySet<string>): boolean {
  // Fireworks has its faster editions in a folder of their own.
  const plain = model.replace(/-(fast|highspeed)$/, '').replace('/routers/', '/models/')
  if (plain === model || !names.has(`${provider}/${plain}`)) return false
  const own = catalogueModel(provider, model)?.price
  const other = catalogueModel(provider, plain)?.price
  return (own?.outputPico ?? 0) > (other?.outputPico ?? Infinity)
}

/** The end of a name that says which release it is, as `-2024-08-06`, `@20250514`, `-0613`, `-08-2024`. */
const release = /(-preview)?[-@](20\d\d-?\d\d-?\d\d|\d\d-20\d\d|\d\d-\d\d|\d{4})$|-preview$/
