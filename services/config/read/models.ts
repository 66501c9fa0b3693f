import type { Parsed } from '../../../schemas/config/fields.ts'
import { defaultCreated, deploymentDefaults, ModelEntry, type PriceEntry } from '../../../schemas/config/models.ts'
import { catalogueModel } from '../catalogue/models.ts'
import { guessKind, isServed, kindsAt } from '../catalogue/kinds.ts'
import type {
  Capabilities, DeploymentConfig, ModelConfig, Price, PriceTier, ProviderConfig
} from '../catalogue/types.ts'
import type { CheckedFile, ConfigEntry } from '../validate/check-structure.ts'
import { suggest } from '../validate/suggest.ts'
import type { YamlDocument } from '../yaml/document.ts'
import type { Path } from '../yaml/path.ts'
import { readImages, readVideo } from './abilities.ts'
import { checkKind, checkLengths, type RefusedLength } from './check-kind.ts'
import { complete } from './complete.ts'
import { toParsed } from './to-parsed.ts'

/** Returns the file's models, completed from the catalogue. Reports wrong ids and unknown providers. */
export function readModels (
  { models, providers }: CheckedFile, configs: readonly ProviderConfig[], refusedLength: RefusedLength,
  document: YamlDocument
): ModelConfig[] {
  const ids = new Set<string>()
  // Without the ids of all providers, no provider is called unknown.
  const byId = new Map(configs.map(config => [config.id, config]))
  const known = providers.complete ? new Set([...byId.keys(), ...providers.brokenIds]) : null
  return models.list.map(({ item, path }) => {
    const { id, fallbacks } = item
    if (ids.has(id)) document.report([...path, 'id'], 'is the id of an earlier model')
    if (/^auto(:|$)/.test(id)) document.report([...path, 'id'], 'is reserved: "auto" and "auto:…" choose a model')
    if (fallbacks?.includes(id) === true) document.report([...path, 'fallbacks'], 'contains the model itself')
    ids.add(id)
    const model = readModel({ item, path }, known, byId, document)
    checkKind(model, byId, path, document)
    if (model.kind === 'video') checkLengths(model, lengthsIn(item, path), byId, refusedLength, document)
    return model
  })
}

/** The lengths of videos that an entry states, with their places. */
function lengthsIn ({ video }: ModelEntry, path: Path) {
  const { seconds = [], default_seconds: usual } = video ?? {}
  return [
    ...seconds.map((length, index) => ({ path: [...path, 'video', 'seconds', index], seconds: length })),
    ...usual === undefined || seconds.includes(usual)
      ? []
      : [{ path: [...path, 'video', 'default_seconds'], seconds: usual }]
  ]
}

function readModel (
  { item, path }: ConfigEntry<ModelEntry>, providerIds: ReadonlySet<string> | null,
  providers: ReadonlyMap<string, ProviderConfig>, document: YamlDocument
): ModelConfig {
  const parsed = toParsed(ModelEntry, item, { document, path })
  const deployments = readDeployments(parsed, path, providerIds, document)
  const { provider, model, capabilities, price, cost, images, video, ...own } = parsed
  const [first] = deployments
  // Several deployments may differ, so the catalogue applies only to a single one.
  const only = deployments.length === 1 ? first : undefined
  const known = only && catalogueModel(only.provider, only.model)
  const hasOwnPrice = price !== null || deployments.some(deployment => deployment.price != null)
  const videoAbilities = readVideo(video, known?.video, hasOwnPrice)
  if (video?.defaultSeconds != null && videoAbilities?.seconds?.includes(video.defaultSeconds) === false) {
    document.report([...path, 'video', 'default_seconds'], 'is not one of the supported lengths')
  }
  if (video?.defaultSize != null && videoAbilities?.sizes?.includes(video.defaultSize) === false) {
    document.report([...path, 'video', 'default_size'], 'is not one of the supported sizes')
  }
  const kind = own.kind ?? known?.kind ?? usualKind(first, providers)
  const knownPrice = deployments.find(({ price }) => price != null)?.price ?? known?.price ?? null
  return {
    ...own,
    kind,
    deployments,
    price: price === null ? knownPrice : readPrice(price, known?.price ?? null),
    ...(cost !== null && { cost: readPrice(cost, null) }),
    contextWindow: own.contextWindow ?? known?.contextWindow ?? null,
    maxOutput: own.maxOutput ?? known?.maxOutput ?? null,
    capabilities: complete(capabilities ?? unsaid, known?.capabilities ?? { ...textOnly, vision: kind === 'video' }),
    images: readImages(images, known?.images, hasOwnPrice),
    video: videoAbilities,
    quality: { ...item.quality },
    ownedBy: own.ownedBy ?? first?.provider ?? '',
    created: own.created ?? known?.created ?? defaultCreated
  }
}

/** Chat where the provider has it; elsewhere by the name of the model. */
function usualKind (
  deployment: DeploymentConfig | undefined, providers: ReadonlyMap<string, ProviderConfig>
): ModelConfig['kind'] {
  const provider = providers.get(deployment?.provider ?? '')
  if (deployment === undefined || provider === undefined || kindsAt(provider).includes('chat')) return 'chat'
  const guessed = guessKind(provider, deployment.model)
  return isServed(guessed) ? guessed : 'chat'
}

function readDeployments (
  { id, provider, model, deployments, price }: Parsed<typeof ModelEntry>,
  path: Path,
  providerIds: ReadonlySet<string> | null,
  document: YamlDocument
): DeploymentConfig[] {
  if (deployments === null) {
    const at = [...path, 'provider']
    if (provider === null) {
      const isReported = document.has([...path, 'deployments'])
      if (!isReported) document.report(at, 'is missing; a model needs a provider, or deployments')
      return []
    }
    checkProvider(provider, at, providerIds, document)
    return [{ provider, model: model ?? id, ...deploymentDefaults }]
  }
  for (const [key, value] of Object.entries({ provider, model })) {
    if (value !== null) document.report([...path, key], 'cannot be combined with deployments', 'key')
  }
  const read = deployments.map(({ price: own, cost, ...deployment }, index) => {
    checkProvider(deployment.provider, [...path, 'deployments', index, 'provider'], providerIds, document)
    const upstream = deployment.model ?? id
    const listed = catalogueModel(deployment.provider, upstream)?.price ?? null
    const placed = { ...deployment, model: upstream, ...(cost !== null && { cost: readPrice(cost, null) }) }
    return { deployment: placed, listed, own: own && readPrice(own, listed) }
  })
  // The model's price applies to all its deployments; without it, each has its own or the catalogue's.
  const hasPrices = read.length > 1 && price === null && read.some(({ listed, own }) => listed ?? own)
  return read.map(({ deployment, listed, own }) => {
    const ownPrice = own ?? (hasPrices ? listed : undefined)
    return ownPrice === undefined ? deployment : { ...deployment, price: ownPrice }
  })
}

function checkProvider (id: string, path: Path, known: ReadonlySet<string> | null, document: YamlDocument) {
  if (known === null || known.has(id)) return
  const hint = suggest(document.written(path), known)
  document.report(path, `is not a known provider${hint}; list it, or set its key in the environment`)
}

type PriceFields = Parsed<typeof PriceEntry>

function readPrice ({ tiers, serviceTiers, ...own }: PriceFields, known: Price | null): Price {
  // The catalogue's tiers belong to its token prices, not to the file's.
  const hasOwnPrices = own.inputPico !== null || own.outputPico !== null
  return {
    ...complete(own, known ?? {}),
    tiers: readTiers(tiers) ?? (hasOwnPrices ? null : known?.tiers ?? null),
    serviceTiers: serviceTiers?.map(one => ({ ...one, tiers: readTiers(one.tiers) })) ?? null
  }
}

function readTiers (tiers: PriceFields['tiers']): PriceTier[] | null {
  if (tiers === null) return null
  return tiers.map(({ above, ...prices }) => ({ aboveTokens: above, ...prices }))
    .toSorted((one, other) => one.aboveTokens - other.aboveTokens)
}

const unsaid: { [Key in keyof Capabilities]: null } = {
  tools: null, vision: null, audio: null, files: null, jsonSchema: null, reasoning: null, streaming: null
}

const textOnly: Capabilities = {
  tools: false,
  vision: false,
  audio: false,
  files: false,
  jsonSchema: false,
  reasoning: false,
  streaming: true
}
