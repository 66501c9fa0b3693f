import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { CatalogueFile, CatalogueRow } from '../../config/catalogue/catalogue-file.ts'
import { knownProviders } from '../../../schemas/config/known-providers.ts'
import { compareRows, keptPrices } from './compare-prices.ts'

export const maxCatalogueBytes = 4 * 1024 ** 2

/** USD 10,000 per million tokens. */
const pico = Type.Integer({ minimum: 0, maximum: 10_000_000_000 })
const rates = {
  inputPico: pico,
  outputPico: pico,
  cacheReadPico: Type.Optional(pico),
  cacheWritePico: Type.Optional(pico),
  cacheWrite1hPico: Type.Optional(pico)
}
const tokens = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 }))
const literals = <T extends string>(...names: T[]) => Type.Union(names.map(name => Type.Literal(name)))
const media = Type.Array(literals('text', 'image', 'audio', 'video', 'file'), { maxItems: 5 })
const text = Type.String({ maxLength: 500 })

const Tier = Type.Object(
  { ...rates, aboveTokens: Type.Integer({ minimum: 1 }) }, { additionalProperties: false }
)

/** USD 10,000 per second or image. */
const nano = Type.Integer({ minimum: 0, maximum: 10_000_000_000_000 })
const size = Type.Optional(Type.String({ pattern: '^[1-9]\\d{1,4}x[1-9]\\d{1,4}$' }))

const VideoPrice = Type.Object({
  size, audio: Type.Optional(Type.Boolean()), secondNano: nano
}, { additionalProperties: false })

const ImagePrice = Type.Object({
  size,
  quality: Type.Optional(Type.String({ pattern: '^[a-z]{1,16}$' })),
  imageNano: nano,
  furtherMegapixelNano: Type.Optional(nano)
}, { additionalProperties: false })

const Row = Type.Object({
  kind: literals('chat', 'image', 'video', 'other'),
  input: media,
  output: media,
  features: Type.Array(literals('tools', 'json_schema', 'reasoning'), { maxItems: 3 }),
  temperature: Type.Optional(Type.Boolean()),
  contextWindow: tokens,
  maxOutput: tokens,
  price: Type.Optional(Type.Object({
    ...rates, audioInputPico: Type.Optional(pico), audioOutputPico: Type.Optional(pico)
  }, { additionalProperties: false })),
  tiers: Type.Optional(Type.Array(Tier, { maxItems: 8 })),
  videoPrices: Type.Optional(Type.Array(VideoPrice, { minItems: 1, maxItems: 100 })),
  imagePrices: Type.Optional(Type.Array(ImagePrice, { minItems: 1, maxItems: 100 })),
  from: Type.Optional(text),
  released: Type.String({ pattern: '^\\d{4}-\\d\\d(-\\d\\d)?$' }),
  knowledge: Type.Optional(Type.String({ pattern: '^\\d{4}(-\\d\\d){0,2}$' })),
  deprecated: Type.Optional(Type.Literal(true))
}, { additionalProperties: false })

const Source = Type.Object({ name: text, version: text, date: text, license: text })

const File = Type.Object({
  source: text,
  license: text,
  date: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' }),
  units: text,
  sources: Type.Optional(Type.Record(text, Source)),
  providers: Type.Record(Type.String(), Type.Record(Type.String({ minLength: 1, maxLength: 300 }), Row))
}, { additionalProperties: false })

/** Reads a catalogue in the form of models.json. Throws an Error that says what is wrong. */
export function readCatalogueUpdate (content: string): CatalogueFile {
  if (Buffer.byteLength(content) > maxCatalogueBytes) throw catalogueTooLarge()
  let file: unknown
  try {
    file = JSON.parse(content)
  } catch {
    throw new Error('The catalogue is not JSON.')
  }
  if (Value.Check(File, file)) {
    const stranger = Object.keys(file.providers).find(id => !knownProviders.some(known => known.id === id))
    if (stranger === undefined) return file
    throw new Error(`The catalogue has a wrong structure at /providers/${stranger}: there is no such provider.`)
  }
  const error = Value.Errors(File, file).First()
  throw new Error(`The catalogue has a wrong structure at ${error?.path || '/'}: ${error?.message}.`)
}

export function catalogueTooLarge (): Error {
  return new Error(`The catalogue is larger than ${maxCatalogueBytes} bytes.`)
}

/** What an update does to the catalogue in use; models are `provider/name`. */
export interface CatalogueChange {
  file: CatalogueFile
  added: string[]
  risen: string[]
  /** Their prices would fall: they keep the dearer rates unless lower prices are allowed. */
  fallen: string[]
}

/** Joins an update to the catalogue in use. Models that the update lacks stay as they are. */
export function joinUpdate (
  current: CatalogueFile, update: CatalogueFile, allowsLower: boolean
): CatalogueChange {
  const change: Omit<CatalogueChange, 'file'> = { added: [], risen: [], fallen: [] }
  const providers: CatalogueFile['providers'] = { ...current.providers }
  for (const [id, rows] of Object.entries(update.providers)) {
    const before = new Map(Object.entries(current.providers[id] ?? {}))
    const after = Object.entries(rows).map(([name, row]): [string, CatalogueRow] => {
      const old = before.get(name)
      const changed = compareRows(old, row)
      if (changed !== null) change[changed].push(`${id}/${name}`)
      const isKept = changed === 'fallen' && !allowsLower && old !== undefined
      return [name, isKept ? { ...row, ...keptPrices(old, row) } : row]
    })
    providers[id] = Object.fromEntries([...before, ...after])
  }
  return { ...change, file: { ...update, providers } }
}
