import t from 'tap'
import { domains } from '../../../services/routing/scoring/weights.ts'
import { createProfile } from '../../../services/routing/scoring/profile.ts'
import { loadPublishedLevels, publishedLevel, type LevelsFile } from '../../../services/routing/scoring/published-levels.ts'
import { routeHeader } from '../../../services/routing/describe.ts'
import { toDecisionResponse } from '../../../services/routing/decision-response.ts'
import { modelOf, routerOf, routingRequest, weights } from './helper.ts'

const source = { title: 'A benchmark', url: 'https://a.test', licence: 'MIT', tasks: 100, odds: 0, level: 1, slope: 0.5 }
const table: LevelsFile = {
  updated: '2026-11-01',
  sources: { a: { ...source, domain: 'code' }, b: { ...source, domain: 'tools' } },
  models: {
    'new-4': { code: { share: 0.9, source: 'a', date: '2026-10-01' } },
    'new-3': { code: { share: 0.2, source: 'a', date: '2026-01-01' }, tools: { share: 0.5, source: 'b', date: '2026-02-01' } }
  }
}
const none: LevelsFile = { ...table, models: {} }
const profileOf = (id: string, levels: LevelsFile, quality: Record<string, number> = {}) =>
  createProfile({ ...modelOf({ id, input: 1, output: 4 }), quality, names: [id] }, weights, levels)
const at = (domain: typeof domains[number]) => domains.indexOf(domain)

t.test('a published level moves a model in its own domain alone', async t => {
  const [bare, strong, weak] = [profileOf('new-4', none), profileOf('new-4', table), profileOf('new-3', table)]
  t.ok((strong.levels[at('code')] ?? 0) > (weak.levels[at('code')] ?? 0))
  for (const domain of domains) {
    if (domain !== 'code') t.equal(strong.levels[at(domain)], bare.levels[at(domain)], domain)
  }
  t.match(strong.bases[at('code')], { basis: 'measured', source: 'A benchmark', date: '2026-10-01' })
  t.match(strong.bases[at('math')], { basis: 'guessed', source: null, date: null })
})

t.test('a model that was not measured has the level of its last measured release', async t => {
  t.match(publishedLevel(['new-4-5'], 'code', table), { basis: 'family', date: '2026-10-01' })
  t.match(publishedLevel(['new-4.5'], 'code', table), { basis: 'family', date: '2026-10-01' })
  const [at2026, later] = [Date.UTC(2026, 9), Date.UTC(2027, 3)].map(ms =>
    createProfile({ ...modelOf({ id: 'new-4-5' }), created: ms / 1000, names: ['new-4-5'] }, weights, table))
  const [bare, bareLater] = [Date.UTC(2026, 9), Date.UTC(2027, 3)].map(ms =>
    createProfile({ ...modelOf({ id: 'new-4-5' }), created: ms / 1000, names: ['new-4-5'] }, weights, none))
  const added = (one?: typeof later, other?: typeof later) => (one?.levels[at('code')] ?? 0) - 0.3 * (other?.levels[at('code')] ?? 0)
  t.ok(added(later, bareLater) > added(at2026, bare) + 0.1, 'a later release is expected to be better')
  t.equal(publishedLevel(['newer'], 'code', table), undefined)
  t.equal(publishedLevel(['new-4'], 'math', table), undefined)
})

t.test('the operator overrides what is published, and the training data keeps its own levels', async t => {
  const own = profileOf('new-4', table, { code: 0.3 })
  t.equal(own.bases[at('code')]?.basis, 'operator')
  t.ok(Math.abs((own.levels[at('code')] ?? 0) - Math.log(0.3 / 0.7)) < 1e-6)
  const trained = Object.keys(weights.models)[0] ?? ''
  const levels = { ...table, models: { [trained.replaceAll('.', '-')]: { code: { share: 0.01, source: 'a', date: '2026-01-01' } } } }
  t.same(profileOf(trained, levels).levels, profileOf(trained, none).levels)
  t.match(profileOf(trained, levels).bases[at('code')]?.basis, /measured|family/)
})

t.test('the table of the gateway is dated, has a licence for each source and only shares', async t => {
  const { updated, sources, models } = loadPublishedLevels()
  t.match(updated, /^20\d\d-\d\d-\d\d$/)
  for (const { title, url, licence, tasks } of Object.values(sources)) {
    t.match({ title, url, licence, tasks }, { title: /\S/, url: /^https:/, licence: /^(MIT|Apache-2\.0|CC-BY-4\.0)$/, tasks: Number })
  }
  t.ok(Object.keys(models).length > 100)
  t.same(new Set(Object.values(sources).map(({ domain }) => domain)), new Set(domains), 'a source for each domain')
  for (const [name, levels] of Object.entries(models)) {
    for (const [domain, { share, source, date }] of Object.entries(levels)) {
      const isRight = share >= 0 && share <= 1 && sources[source]?.domain === domain && /^20\d\d-\d\d-\d\d$/.test(date)
      if (!isRight) t.fail(`${name} ${domain}`)
    }
  }
})

t.test('the dry run and the header say what the quality rests on, with two digits', async t => {
  const models = [
    modelOf({ id: 'gpt-5', input: 1.25, output: 10 }), modelOf({ id: 'unheard-of', input: 1, output: 4 }),
    modelOf({ id: 'own', quality: Object.fromEntries(domains.map(domain => [domain, 0.7])) })
  ]
  const decision = routerOf({ models }).decide(routingRequest('Write a function in Rust that merges `Vec<u8>`: `fn merge() {}`'))
  t.equal(decision.domain, 'code')
  const { candidates } = toDecisionResponse(decision, false)
  const rowOf = (name: string) => candidates.find(({ model }) => model === name)
  t.match(rowOf('gpt-5'), { basis: 'measured', source: 'Aider polyglot', as_of: '2025-08-25' })
  t.match(rowOf('unheard-of'), { basis: 'guessed', source: null, as_of: null })
  t.match(rowOf('own'), { basis: 'operator', source: 'gateway.yaml' })
  for (const { quality } of candidates) t.equal(quality, Number(quality?.toFixed(2)))
  t.match(routeHeader(decision, 'gpt-5'), /quality=0\.\d\d, basis=measured, cost=/)
  t.match(routeHeader(decision, 'unheard-of'), /basis=guessed/)
})
