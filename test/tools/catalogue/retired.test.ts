import t from 'tap'
import { knownProviders } from '../../../schemas/config/known-providers.ts'
import { catalogueModelNames } from '../../../services/config/catalogue/models.ts'
import { corrected } from '../../../tools/catalogue/corrections.ts'
import { isRetired, retiredModels } from '../../../tools/catalogue/retired.ts'

t.test('the catalogue has no model that its provider has shut down', async t => {
  for (const { id } of knownProviders) {
    t.same(catalogueModelNames(id).filter(name => isRetired(id, name)), [], id)
  }
})

t.test('a refresh leaves them out, whatever the source lists', async t => {
  const row = { kind: 'image', input: ['text'], output: ['image'], features: [], released: '2024-01-01' } as const
  const names = ['dall-e-3', 'gpt-image-1', 'gpt-image-1-2025-04-23', 'sora-2-pro', 'gpt-image-1.5', 'gpt-image-1-mini']
  const rows = Object.fromEntries(names.map(name => [name, { ...row, input: ['text' as const], output: ['image' as const], features: [] }]))
  t.same(Object.keys(corrected({ openai: rows }).openai ?? {}), ['gpt-image-1.5', 'gpt-image-1-mini'])
})

t.test('each says since when, and who says so', async t => {
  for (const { provider, models, day, source } of retiredModels) {
    t.match(day, /^2026-\d\d-\d\d$/, `${provider} ${String(models)}`)
    t.match(source, /\w{2,}\.\w+|npm/)
  }
})
