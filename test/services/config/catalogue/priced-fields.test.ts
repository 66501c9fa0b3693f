import t from 'tap'
import { fieldPricing, pricedFieldsOf } from '../../../../services/config/catalogue/priced-fields.ts'
import { dialects } from '../../../../services/providers/openai/dialects.ts'
import { foldName } from '../../../../services/shared/request-fields.ts'

/** Dialects of servers that may know any field. */
const open = ['compatible', 'litellm', 'nvidia', 'deepinfra', 'moonshot', 'huggingface']

t.test('an unknown server is taken to know every field of every other', async t => {
  const names = (dialect: string) => new Set(pricedFieldsOf(dialect).map(({ name }) => foldName(name)))
  const all = names('compatible')
  for (const dialect of Object.keys(dialects)) {
    t.ok(names(dialect).difference(new Set(['extrabody'])).isSubsetOf(all), dialect)
    if (open.includes(dialect)) t.equal(names(dialect).size, all.size, dialect)
  }
  t.ok(all.has('modellist') && all.has('loraPath'.toLowerCase()) && all.has('enablesearch'))
})

t.test('values that change nothing are known', async t => {
  const harmless = (dialect: string, name: string, value: unknown) =>
    pricedFieldsOf(dialect).find(field => field.name === name)?.isHarmless(value)
  for (const dialect of ['openai', 'azure', 'openrouter', 'xai', 'compatible', 'groq']) {
    t.equal(harmless(dialect, 'service_tier', 'auto'), true, dialect)
    t.equal(harmless(dialect, 'service_tier', 'priority'), false, dialect)
  }
  t.equal(harmless('groq', 'service_tier', 'flex'), true, 'at Groq it has the standard price')
  t.equal(harmless('compatible', 'service_tier', 'flex'), false)
  t.equal(harmless('xai', 'search_parameters', { mode: 'off' }), true)
  t.equal(harmless('xai', 'search_parameters', { mode: 'auto' }), false)
  t.equal(pricedFieldsOf('xai').find(({ name }) => name === 'search_parameters')?.effect, 'price', 'Live Search has ended')
  const thoughts = { google: { thinking_config: { thinking_budget: 5 } } }
  t.equal(harmless('gemini', 'extra_body', thoughts), true)
  t.equal(harmless('gemini', 'extra_body', { google: { cached_content: 'x' } }), false)
})

t.test('models that always search', async t => {
  for (const [dialect, model] of [
    ['openai', 'gpt-4o-search-preview-2025-03-11'], ['azure', 'gpt-5-search-api'], ['openrouter', 'openai/gpt-4o:online'],
    ['openrouter', 'perplexity/sonar-pro'], ['perplexity', 'sonar'], ['groq', 'groq/compound-mini'], ['compatible', 'sonar']
  ] as const) t.equal(fieldPricing({ dialect }).searchingModels?.test(model), true, `${dialect} ${model}`)
  for (const [dialect, model] of [
    ['openai', 'gpt-4o'], ['openrouter', 'relace/relace-search'], ['vllm', 'sonar'], ['groq', 'llama-3.3-70b-versatile'],
    ['compatible', 'sonarqube']
  ] as const) t.not(fieldPricing({ dialect }).searchingModels?.test(model), true, `${dialect} ${model}`)
  const limits = ['openrouter', 'compatible', 'openai'].map(dialect => fieldPricing({ dialect }).cacheLifetime)
  t.same(limits, ['refused', 'refused', 'ignored'])
})
