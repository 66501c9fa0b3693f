import { configDefaults } from '../../../schemas/config/config.ts'
import type { ModelEntry } from '../../../schemas/config/config.ts'
import { catalogueModel } from '../../catalogue/catalogue.ts'
import type { CatalogueModel } from '../../catalogue/catalogue.ts'
import type { CheckedFile, Entry } from '../validate/check-structure.ts'
import type { Capabilities, DeploymentConfig, ModelConfig } from '../../catalogue/types.ts'
import { readImages } from './image-models.ts'
import { knownVideo } from '../../catalogue/known-videos.ts'
import { readPrice } from './prices.ts'
import { suggest } from '../validate/suggest.ts'
import { readVideoAbilities } from './video.ts'
import type { YamlDocument } from '../yaml/document.ts'
import type { Path } from '../yaml/path.ts'

/**
 * The models of the file, in its order, with what the catalogue knows where the file is silent. Reports ids
 * given twice or reserved, and unknown providers.
 */
export function readModels (
  { models, providers }: CheckedFile, providerIds: ReadonlySet<string>, document: YamlDocument
): ModelConfig[] {
  const ids = new Set<string>()
  const known = providers.complete ? new Set([...providerIds, ...providers.brokenIds]) : null
  return models.list.map((entry) => {
    const { item, path } = entry
    if (ids.has(item.id)) document.report([...path, 'id'], 'is the id of an earlier model too')
    if (/^auto(:|$)/.test(item.id)) document.report([...path, 'id'], 'is reserved: "auto" and "auto:…" choose a model')
    ids.add(item.id)
    return toModel(entry, readDeployments(entry, known, document), document)
  })
}

function toModel (
  { item, path }: Entry<ModelEntry>, deployments: DeploymentConfig[], document: YamlDocument
): ModelConfig {
  const known = knownAs(deployments)
  const { id, quality = {}, speed, fallbacks } = item
  // Of a model in several places the first that has a price tells it.
  const told = deployments.find(({ price }) => price != null)?.price ?? known?.price ?? null
  if (fallbacks?.includes(id) === true) document.report([...path, 'fallbacks'], 'names the model itself')
  return {
    id,
    kind: item.kind ?? known?.kind ?? 'chat',
    deployments,
    price: item.price === undefined ? told : readPrice(document, [...path, 'price'], known?.price ?? null),
    contextWindow: item.context_window ?? known?.contextWindow ?? null,
    maxOutput: item.max_output ?? known?.maxOutput ?? null,
    capabilities: toCapabilities(item.capabilities, known?.capabilities),
    ...readImages({ item, path }, known?.images, document),
    quality: { ...quality },
    ...(speed && { speed: { firstTokenMs: speed.first_token_ms, tokensPerSecond: speed.tokens_per_second } }),
    ...(fallbacks && { fallbacks: [...fallbacks] }),
    ...toVideo(item, deployments, path, document),
    ...(item.cache_seconds !== undefined && { cacheSeconds: item.cache_seconds }),
    ownedBy: item.owned_by ?? deployments[0]?.provider ?? '',
    created: item.created ?? known?.created ?? configDefaults.createdS
  }
}

/** What the catalogue knows of a model with one deployment; several may differ, in their prices above all. */
function knownAs ([deployment, ...others]: DeploymentConfig[]): CatalogueModel | undefined {
  if (deployment === undefined || others.length > 0) return undefined
  return catalogueModel(deployment.provider, deployment.model)
}

/** `known` holds the ids of all providers; null when some could not be read: then none is called unknown. */
function readDeployments (
  { item, path }: Entry<ModelEntry>, known: ReadonlySet<string> | null, document: YamlDocument
): DeploymentConfig[] {
  if (item.deployments === undefined) {
    const at = [...path, 'provider']
    if (item.provider !== undefined) {
      checkProvider(item.provider, at, known, document)
      return [toDeployment(item.provider, item.model ?? item.id)]
    }
    if (!document.has([...path, 'deployments'])) document.report(at, 'is missing; a model needs it, or deployments')
    return []
  }
  for (const key of ['provider', 'model'] as const) {
    if (item[key] !== undefined) document.report([...path, key], 'cannot stand beside deployments', 'key')
  }
  const read = item.deployments.map(({ provider, model = item.id, weight, priority, price }, index) => {
    const at = [...path, 'deployments', index]
    checkProvider(provider, [...at, 'provider'], known, document)
    const listed = catalogueModel(provider, model)?.price ?? null
    const own = price === undefined ? undefined : readPrice(document, [...at, 'price'], listed)
    return { deployment: toDeployment(provider, model, weight, priority), listed, own }
  })
  // A price of the model holds wherever it runs; without one each place costs what is known of it.
  const differ = read.length > 1 && item.price === undefined && read.some(({ listed, own }) => listed ?? own)
  return read.map(({ deployment, listed, own }) => {
    const price = own ?? (differ ? listed : undefined)
    return price === undefined ? deployment : { ...deployment, price }
  })
}

function checkProvider (id: string, path: Path, known: ReadonlySet<string> | null, document: YamlDocument) {
  if (known === null || known.has(id)) return
  const hint = suggest(document.written(path), known)
  document.report(path, `names no provider${hint}; it must be listed, or its key be in the environment`)
}

function toDeployment (
  provider: string,
  model: string,
  weight: number = configDefaults.weight,
  priority: number = configDefaults.priority
): DeploymentConfig {
  return { provider, model, weight, priority }
}

/**
 * What several deployments have in common nobody knows, so only one counts for what the file does not say.
 */
function toVideo (
  { video }: ModelEntry, [deployment, ...others]: DeploymentConfig[], path: Path, document: YamlDocument
): Pick<ModelConfig, 'video'> {
  const isOne = deployment !== undefined && others.length === 0
  const known = isOne ? knownVideo(deployment.provider, deployment.model) : undefined
  if (video === undefined) return known === undefined ? {} : { video: known }
  return { video: readVideoAbilities(video, known, [...path, 'video'], document) }
}

function toCapabilities (entry: ModelEntry['capabilities'] = {}, known: Capabilities = plain): Capabilities {
  const { tools, vision, audio, files, json_schema: jsonSchema, reasoning, streaming } = entry
  return {
    tools: tools ?? known.tools,
    vision: vision ?? known.vision,
    audio: audio ?? known.audio,
    files: files ?? known.files,
    jsonSchema: jsonSchema ?? known.jsonSchema,
    reasoning: reasoning ?? known.reasoning,
    streaming: streaming ?? known.streaming
  }
}

const plain: Capabilities = {
  tools: false,
  vision: false,
  audio: false,
  files: false,
  jsonSchema: false,
  reasoning: false,
  streaming: true
}
