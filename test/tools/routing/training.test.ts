import t from 'tap'
import { averageQuality, pairMetrics } from '../../../bench/evaluation/metrics.ts'
import { createRandom, type TrainingRow, type TrainingData } from '../../../tools/routing/data.ts'
import { toExamples } from '../../../tools/routing/examples.ts'
import { residualsOf } from '../../../tools/routing/residuals.ts'
import { principal } from '../../../tools/routing/principal.ts'
import { ridge } from '../../../tools/routing/ridge.ts'
import { train } from '../../../tools/routing/train.ts'
import { unpackWeights } from '../../../services/routing/scoring/weights.ts'
import { createTextAnalyzer } from '../../../services/routing/scoring/analyze-text.ts'
import { createProfile } from '../../../services/routing/scoring/profile.ts'
import { predictQuality } from '../../../services/routing/scoring/quality.ts'
import { modelOf } from '../../services/routing/helper.ts'

/** Rows of two models: one answers everything, the other only texts that are not about the sea. */
function rowsOf (count: number): TrainingRow[] {
  const random = createRandom(3)
  const words = 'house tree road hill cloud river stone field garden tower'.split(' ')
  return Array.from({ length: count }, (_, at) => {
    const text = Array.from({ length: 12 }, () => words[Math.floor(random() * words.length)]).join(' ')
    const isSea = at % 2 === 0
    return {
      id: `row/${at}`,
      family: at % 3 === 0 ? 'one' : 'two',
      messages: [{ role: 'user', content: isSea ? `${text} ocean sailing harbour` : text }],
      y: { strong: random() < 0.95 ? 1 : 0, weak: isSea ? 0 : 1 },
      out: { strong: 200, weak: 100 }
    }
  })
}

const data: TrainingData = { rows: rowsOf(600), models: {}, defaultOutput: {}, speeds: [], programming: [] }

t.test('training learns which texts need the better model, and is deterministic', async t => {
  const file = train(data, data.rows, { penalty: 1 })
  t.strictSame(train(data, data.rows, { penalty: 1 }), file)
  const weights = unpackWeights(file)
  const analyze = createTextAnalyzer(weights)
  const quality = (model: string, text: string) => {
    const analysis = analyze(text, { tools: 0, turns: 1, followUp: '', promptTokens: 20 })
    const profile = createProfile({ ...modelOf({ id: model }), names: [model] }, weights)
    return predictQuality(analysis, profile, weights)
  }
  const [sea = '', land = ''] = data.rows.slice(0, 2).map(({ messages }) => String(messages[0]?.content))
  t.ok(quality('weak', sea) < 0.4 && quality('weak', land) > 0.7, `${quality('weak', sea)} ${quality('weak', land)}`)
  t.ok(quality('strong', sea) > 0.8)
  t.ok((file.models.strong?.verbosity ?? 0) > (file.models.weak?.verbosity ?? 0))
})

t.test('scores shrink to the mean of their subject if a benchmark has several', async t => {
  const rows = (subjects: number) => data.rows.map((row, at) => ({ ...row, sub: `subject ${at % subjects}` }))
  const chosen = data.rows.map((_, at) => at)
  const spread = (subjects: number) => {
    const { lines, noise } = residualsOf(toExamples(rows(subjects)), chosen)
    const mean = lines.reduce((sum, line, at) => at % 10 === 0 ? sum + (line[0] as number) / 60 : sum, 0)
    const off = lines.filter((_, at) => at % 10 === 0).map(line => Math.abs((line[0] as number) - mean))
    return { noise, off: off.reduce((sum, one) => sum + one, 0) / off.length }
  }
  const [few, many] = [spread(2), spread(10)]
  t.equal(few.noise, 1, 'two parts do not count as subjects')
  t.ok(Math.abs(many.noise - 0.5) < 1e-9, 'the mean of sixty rows weighs as much as a row itself')
  t.ok(Math.abs(many.off - few.off / 2) < 1e-9, `${many.off} ${few.off}`)
})

t.test('ridge solves a system that has a solution', async t => {
  const [constant = 0, slope = 0] = ridge([[1, 1], [1, 2], [1, 3]], [5, 7, 9], 1e-9)
  t.ok(Math.abs(constant - 3) < 1e-6 && Math.abs(slope - 2) < 1e-6)
})

t.test('ridge returns no coefficients for no rows, and a penalty shrinks all but the constant', async t => {
  t.strictSame(ridge([], [], 1), [])
  const [constant = 0, slope = 0] = ridge([[1, -1], [1, 1]], [1, 5], 1e9)
  t.ok(Math.abs(constant - 3) < 1e-6 && Math.abs(slope) < 1e-6)
})

t.test('principal components are orthogonal unit vectors, the one of the largest variance first', async t => {
  const coordinates = [[3, 4, 0], [-3, -4, 0], [-0.4, 0.3, 0], [0.4, -0.3, 0]]
  const points = coordinates.map(point => Float64Array.from(point))
  const found = principal(points, 2, 1)
  const expected = [[0.6, 0.8, 0], [0.8, -0.6, 0]]
  t.equal(found.length, 2)
  found.forEach((direction, at) => {
    const cosine = direction.reduce((sum, value, axis) => sum + value * (expected[at]?.[axis] ?? 0), 0)
    t.ok(Math.abs(Math.abs(cosine) - 1) < 1e-9, `${direction}`)
  })
  t.strictSame(principal(points, 2, 1), found, 'the same seed gives the same signs')
})

t.test('the metrics match the papers', async t => {
  const random = createRandom(1)
  const strong = Array.from({ length: 4000 }, () => 1)
  const weak = strong.map(() => random() < 0.5 ? 1 : 0)
  t.ok(Math.abs(pairMetrics(strong.map(random), strong, weak).apgr - 0.5) < 0.02, 'random mixing has one half')
  const known = pairMetrics(weak.map(one => 1 - one + random() * 1e-6), strong, weak)
  t.ok(known.apgr > 0.7 && known.cpt50 < 30 && known.cpt80 < 45, 'an oracle needs few calls of the strong model')
  t.equal(averageQuality([{ cost: 0, quality: 0 }, { cost: 1, quality: 1 }, { cost: 0.5, quality: 0.2 }], 0, 1).toFixed(3), '0.500')
})
