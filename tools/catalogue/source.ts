import { Type } from '@sinclair/typebox'
import type { Static, TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { keepDigits } from './digits.ts'
import { readCost, sourceCost, sourceMedium } from './cost.ts'
import type { SourceMedium } from './cost.ts'
import type { CatalogueRow, Feature, Modality } from '../../services/config/catalogue/catalogue-file.ts'
import sourceNames from './source-names.json' with { type: 'json' }

/** The data of models.dev. */
export interface CatalogueSource {
  /** The date of the data, if it is stated. */
  date: string | null
  providers: Record<string, Record<string, CatalogueRow>>
  /** Omitted prices with the reason, and providers without data; one line each. */
  notes: string[]
}

/**
 * Reads the JSON of models.dev, either as https://models.dev/api.json or under `providers` beside a date
 * `asOf`. Only the given providers are read. Prices are parsed from their digits, never rounded; one that
 * does not fit is omitted. Throws SyntaxError for invalid JSON, TypeError for another structure.
 */
export function readCatalogueSource (text: string, providerIds: readonly string[]): CatalogueSource {
  const file: unknown = JSON.parse(text, keepDigits)
  const { asOf = null, providers } = Value.Check(datedFile, file) ? file : { providers: file }
  const all = checked(Type.Record(Type.String(), Type.Unknown()), providers, 'The source')
  const notes: string[] = []
  const selected: CatalogueSource['providers'] = {}
  for (const id of providerIds.toSorted()) {
    const found = all[sourceName(id)]
    if (found === undefined) {
      notes.push(`${id}: no data`)
      continue
    }
    const { models } = checked(sourceProvider, found, id)
    const rows = Object.entries(models).map(([name, model]) => {
      return [name, toRow(name, model, note => notes.push(`${id}/${name}: ${note}`))] as const
    })
    selected[id] = Object.fromEntries(rows)
  }
  return { date: asOf, providers: selected, notes }
}

/** Numbers are strings of digits; see `keepDigits`. */
const count = Type.String({ pattern: '^\\d+$' })
const day = Type.String({ pattern: '^\\d{4}-\\d\\d(-\\d\\d)?$' })

const sourceModel = Type.Object({
  release_date: day,
  knowledge: Type.Optional(Type.String({ pattern: '^\\d{4}(-\\d\\d){0,2}$' })),
  status: Type.Optional(Type.String()),
  limit: Type.Object({ context: count, output: count }),
  modalities: Type.Object({ input: Type.Array(sourceMedium), output: Type.Array(sourceMedium) }),
  cost: Type.Optional(sourceCost),
  flags: Type.Optional(Type.Array(Type.String())),
  tool_call: Type.Optional(Type.Union([Type.Boolean(), Type.Object({ supported: Type.Boolean() })])),
  structured_output: Type.Optional(Type.Boolean()),
  reasoning: Type.Optional(Type.Boolean()),
  temperature: Type.Optional(Type.Boolean())
})
type SourceModel = Static<typeof sourceModel>

const sourceProvider = Type.Object({ models: Type.Record(Type.String(), sourceModel) })

const datedFile = Type.Object({ asOf: day, providers: Type.Unknown() })

function sourceName (id: string): string {
  return new Map(Object.entries(sourceNames)).get(id) ?? id
}

function checked<Schema extends TSchema> (schema: Schema, value: unknown, name: string): Static<Schema> {
  if (Value.Check(schema, value)) return value
  const error = Value.Errors(schema, value).First()
  throw new TypeError(`${name} does not have the structure of models.dev at ${error?.path}: ${error?.message}`)
}

function toRow (name: string, model: SourceModel, note: (text: string) => void): CatalogueRow {
  const { limit, modalities, release_date: released, knowledge } = model
  const kind = kindOf(name, modalities)
  const { price, tiers } = readCost(model.cost, modalities.output, kind === 'other' ? () => {} : note)
  return {
    kind,
    input: modalities.input.map(toModality),
    output: modalities.output.map(toModality),
    features: featuresOf(model),
    temperature: temperatureOf(model),
    contextWindow: toLimit(limit.context),
    maxOutput: toLimit(limit.output),
    price,
    tiers,
    released,
    knowledge,
    deprecated: model.status === 'deprecated' ? true : undefined
  }
}

/** The name decides the kind of a model that generates text and another medium; the default is chat. */
function kindOf (name: string, { input, output }: SourceModel['modalities']): CatalogueRow['kind'] {
  if (!input.includes('text') || /embed|rerank|(^|[/-])bge-/i.test(name)) return 'other'
  const generated = (['image', 'video', 'audio'] as const).find(medium => {
    return output.includes(medium) && (!output.includes('text') || name.toLowerCase().includes(medium))
  })
  if (generated !== undefined) return generated === 'audio' ? 'other' : generated
  return output.includes('text') ? 'chat' : 'other'
}

function featuresOf ({ flags, tool_call: tools, ...model }: SourceModel): Feature[] {
  const has: Record<Feature, boolean | undefined> = {
    tools: flags?.includes('tool_call') ?? (typeof tools === 'object' ? tools.supported : tools),
    json_schema: flags?.includes('structured_output') ?? model.structured_output,
    reasoning: flags?.includes('reasoning') ?? model.reasoning
  }
  return features.filter(feature => has[feature] === true)
}

const features: readonly Feature[] = ['tools', 'json_schema', 'reasoning']

function temperatureOf ({ flags, temperature }: SourceModel): boolean | undefined {
  if (flags === undefined) return temperature
  if (flags.includes('temperature')) return true
  return flags.includes('no_temperature') ? false : undefined
}

function toModality (medium: SourceMedium): Modality {
  return medium === 'pdf' ? 'file' : medium
}

/** The source writes 0 for unknown limits. */
function toLimit (digits: string): number | undefined {
  const tokens = Number(digits)
  return tokens > 0 && Number.isSafeInteger(tokens) ? tokens : undefined
}
