/* eslint no-template-curly-in-string: off -- `${NAME}` is the file's own syntax */
import { Type, type Static } from '@sinclair/typebox'
import { AlertsBlock } from './alerts.ts'
import { CatalogueBlock } from './catalogue.ts'
import { ConsoleBlock } from './console.ts'
import { flag, strict, usd, type Parsed } from './fields.ts'
import { ModelEntry } from './models.ts'
import { PluginList } from './plugins.ts'
import { ProviderEntry } from './providers.ts'
import { BreakerEntry, RequestsEntry } from './requests.ts'
import { UsageBlock } from './usage.ts'
import { VideoBlock } from './video.ts'

const weight = (of: string) => Type.Optional(Type.Number({
  minimum: 0,
  maximum: 100,
  description: `How much better in quality, 0 to 1, a model of ten times the ${of} must be. Default: the policy's value.`
}))

/** One item of `policies`. */
export const PolicyEntry = Type.Object({
  id: Type.String({
    pattern: '^auto(:[a-z0-9_-]{1,64})?$',
    description: 'What clients send as the model: `auto`, or `auto:` and a name. `auto`, `auto:cost`, ' +
      '`auto:quality` and `auto:speed` are built in and choose among all chat models.',
    examples: ['auto:cost']
  }),
  models: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
    minItems: 1,
    maxItems: 1000,
    default: ['*'],
    description: 'Ids of the chat models to choose from, `*` for any text. A pattern leaves out classifiers, research ' +
      'models, deprecated ones, dated or faster twins, free trials and the sandbox, unless it matches nothing else.'
  }),
  regions: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 40 }), {
    minItems: 1,
    maxItems: 100,
    description: 'Only providers with one of these values of `region`, `*` for any text, get its requests; also as ' +
      'fallbacks. Default: all providers.',
    examples: [['eu', 'europe-*']]
  })),
  cost_weight: weight('cost'),
  latency_weight: weight('latency'),
  ceiling: Type.Optional(usd('request at most: responses are cut there, and models too expensive for it are not chosen'))
}, { ...strict, description: 'A policy for choosing a model.' })
export type PolicyEntry = Static<typeof PolicyEntry>

/** How `auto` or `auto:<name>` chooses. Null applies the policy's default, or no ceiling. */
export type PolicyConfig = Omit<Parsed<typeof PolicyEntry>, 'regions'> & { regions?: string[] | null }

/** The operator's `gateway.yaml` after `${NAME}` has been substituted; an empty key counts as absent. */
export const GatewayFile = Type.Object({
  environment_providers: flag('Whether to add every provider with an API key in the environment, such as ' +
    'OPENAI_API_KEY. A provider listed here replaces the one of the same id.', true),
  providers: Type.Array(ProviderEntry, { maxItems: 200, default: [], description: 'The servers that run models.' }),
  models: Type.Array(ModelEntry, { maxItems: 10_000, default: [], description: 'The models on offer.' }),
  aliases: Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 512 }), {
    maxProperties: 200,
    default: {},
    description: 'Names that clients may send for a model or policy, `*` for any text; the first match applies. Only ' +
      'for names that are not sold: those of models with a price take precedence.',
    examples: [{ 'claude-*': 'auto', 'gpt-*': 'openai/gpt-4.1' }]
  }),
  policies: Type.Array(PolicyEntry, { maxItems: 100, default: [], description: 'How `auto` chooses.' }),
  plugins: PluginList,
  requests: RequestsEntry,
  breaker: BreakerEntry,
  video: VideoBlock,
  usage: UsageBlock,
  alerts: AlertsBlock,
  console: ConsoleBlock,
  catalogue: CatalogueBlock,
  unpriced: Type.Union([Type.Literal('refuse'), Type.Literal('family')], {
    default: 'refuse',
    description: 'Requests for a chat model that has no price: `refuse`, or `family` for the dearest price of the same ' +
      'maker and family.'
  })
}, {
  ...strict,
  title: 'Tollgate configuration',
  description: 'Every text may contain `${NAME}` or `${NAME:-default}` from the environment; `$${` is a literal `${`.'
})
