import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type {
  CataloguePrice, CatalogueRow, CatalogueTier, Modality
} from '../../services/config/catalogue/catalogue-file.ts'
import { exactPico, keepDigits } from './digits.ts'
import { releasedBy, type Source } from './merge.ts'

/** The files of the package and the providers here. */
export const piFiles: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  azure: 'azure',
  cerebras: 'cerebras',
  deepseek: 'deepseek',
  fireworks: 'fireworks',
  google: 'gemini',
  groq: 'groq',
  huggingface: 'huggingface',
  mistral: 'mistral',
  moonshotai: 'moonshot',
  nvidia: 'nvidia',
  openai: 'openai',
  openrouter: 'openrouter',
  together: 'together',
  xai: 'xai'
}

const digits = Type.String()
const rates = { input: digits, output: digits, cacheRead: digits, cacheWrite: digits }
const model = Type.Object({
  type: Type.Literal('chat'),
  id: Type.String(),
  reasoning: Type.Boolean(),
  input: Type.Array(Type.Union([Type.Literal('text'), Type.Literal('image')])),
  cost: Type.Object({
    ...rates, tiers: Type.Optional(Type.Array(Type.Object({ ...rates, inputTokensAbove: digits })))
  }),
  contextWindow: Type.Union([digits, Type.Null()]),
  maxTokens: Type.Union([digits, Type.Null()]),
  compat: Type.Optional(Type.Object({ supportsTemperature: Type.Optional(Type.Boolean()) }))
})
type Model = Static<typeof model>
type Rates = Pick<Model['cost'], 'input' | 'output' | 'cacheRead' | 'cacheWrite'>

/** The package's length of models whose length it does not have. */
const unknownLength = 4096

/** Reads `dist/providers/data` of @earendil-works/pi-ai on npm, which has models with tools. */
export function readPiAi (files: Readonly<Record<string, string>>, version: string, date: string): Source {
  const providers: Source['providers'] = {}
  const notes: string[] = []
  for (const [file, text] of Object.entries(files)) {
    const id = piFiles[file]
    if (id === undefined) continue
    const apis = Object.values(Object(JSON.parse(text, keepDigits)))
    const models = apis.flatMap(one => Object.values(Object(one))).filter(one => Value.Check(model, one))
    const chat = models.filter(one => !one.id.endsWith(':batch'))
    const rows = chat.map(one => {
      return [one.id, toRow(one, releasedBy(one.id, date), note => notes.push(`${id}/${one.id}: ${note}`))]
    })
    providers[id] = Object.fromEntries(rows)
  }
  return { id: 'pi-ai', name: '@earendil-works/pi-ai on npm', version, date, license: 'MIT', providers, notes }
}

function toRow (model: Model, released: string, note: (text: string) => void): CatalogueRow {
  const { cost, reasoning, input, contextWindow, maxTokens, compat } = model
  const price = priceOf(cost)
  const firstTier = Number(cost.tiers?.[0]?.inputTokensAbove ?? 0)
  const window = length(contextWindow)
  if (price === undefined) note('price omitted: it is not exact, or has no output')
  return {
    kind: 'chat',
    input: input satisfies Modality[],
    output: ['text'],
    features: reasoning ? ['tools', 'reasoning'] : ['tools'],
    ...(compat?.supportsTemperature === false && { temperature: false }),
    // For some models the package has the length at the base price instead.
    ...(window !== undefined && window !== firstTier && { contextWindow: window }),
    ...(length(maxTokens) && { maxOutput: length(maxTokens) }),
    ...(price && { price, ...tiersOf(cost) }),
    released
  }
}

/** A rate of 0 for cached tokens of a model that is not free means that the rate is unknown. */
function priceOf ({ input, output, cacheRead, cacheWrite }: Rates): CataloguePrice | undefined {
  const rates = [input, output, cacheRead, cacheWrite]
  const [inputPico, outputPico, read, write] = rates.map(digits => exactPico(digits))
  if (inputPico === undefined || outputPico === undefined) return undefined
  if (outputPico === 0 && inputPico > 0) return undefined
  return {
    inputPico,
    outputPico,
    ...(read && { cacheReadPico: read }),
    ...(write && write >= inputPico && { cacheWritePico: write })
  }
}

function tiersOf ({ tiers = [] }: Model['cost']): { tiers?: CatalogueTier[] } {
  const found = tiers.flatMap((tier): CatalogueTier[] => {
    const price = priceOf(tier)
    return price === undefined ? [] : [{ aboveTokens: Number(tier.inputTokensAbove), ...price }]
  })
  return found.length === 0 ? {} : { tiers: found }
}

function length (value: string | null): number | undefined {
  const tokens = Number(value ?? 0)
  return tokens > unknownLength && Number.isSafeInteger(tokens) ? tokens : undefined
}
