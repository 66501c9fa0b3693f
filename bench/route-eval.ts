import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadWeights } from '../services/routing/scoring/weights.ts'
import { readRows, readTrainingData, type TrainingRow } from '../tools/routing/data.ts'
import { measureRouting } from './routing.ts'
import { levelErrors } from './evaluation/levels.ts'
import { policyLines, poolsOf } from './evaluation/policies.ts'
import {
  keywordScorer, lengthScorer, oracle, randomScorer, tollgateScorer, trainByFolds, trainOn,
  trainWithoutOwnBenchmark, type Scorer, type WeightsOf
} from './evaluation/scorers.ts'
import {
  meanApgr, meanInterval, pairLines, poolLines, published,
  type ModelPair, type PairLine, type PoolLine, type EvaluationPool
} from './evaluation/tables.ts'
import { contestPairs, readLiveCodeBench } from './evaluation/live-code-bench.ts'
import { gymPairs, readReasoningGym } from './evaluation/reasoning-gym.ts'
import { readGradeSchool } from './evaluation/zero-eval.ts'

const usage = `npm run route:eval -- --data <folder> [--zero-eval <folder>] [--live-code-bench <folder>] [--reasoning-gym <folder>]
  Trains on the training split and measures on the other one, which is small; then the same with each third
  of all rows in turn; then leaves out one benchmark after the other. What the policies choose is compared
  with mixing single models at the same cost.
  --data <folder>           as for route:train
  --zero-eval <folder>      a checkout of WildEval/ZeroEval: grade-school mathematics, never in the training
  --live-code-bench <folder>  with checkouts of LiveCodeBench/submissions and LiveCodeBench/livecodebench.github.io:
                            problems of programming contests, never in the training
  --reasoning-gym <folder>  a checkout of open-thought/reasoning-gym-eval: puzzles, never in the training`

/** That of the pair for mathematics, a close pair of one maker, and a pair far apart. */
const gradeSchoolPairs: ModelPair[] = [
  ['gpt-4o-2024-08-06', 'claude-3-haiku-20240307'],
  ['gpt-4o-2024-05-13', 'mixtral-8x7b-instruct-v0.1'],
  ['gemini-1.5-pro', 'gemini-1.5-flash']
].map(([strong = '', weak = '']) => ({ id: 'gsm', family: 'gsm', strong, weak }))

/** The routers of the summary. */
const columns = ['tollgate', 'prompt length', 'keywords', 'random mixing']

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    'zero-eval': { type: 'string' },
    'live-code-bench': { type: 'string' },
    'reasoning-gym': { type: 'string' },
    help: { type: 'boolean' }
  }
})

if (values.help === true || values.data === undefined) {
  console.error(usage)
  process.exitCode = values.help === true ? 0 : 2
} else {
  evaluate(values.data, values)
}

/** Checkouts of benchmarks that are in no training. */
interface Checkouts { 'zero-eval'?: string, 'live-code-bench'?: string, 'reasoning-gym'?: string }

function evaluate (folder: string, checkouts: Checkouts): void {
  const data = readTrainingData(folder)
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))
  const pairs: ModelPair[] = read('pairs.json')
  const pools: EvaluationPool[] = read('pools.json')
  const others = {
    'random mixing': randomScorer(1), 'prompt length': lengthScorer, keywords: keywordScorer, oracle
  }

  const test = readRows(folder, ['val'])
  const learned = trainOn(data, readRows(folder, ['train']))
  const learnedOnSplit = () => learned
  const split = { tollgate: tollgateScorer(data, learnedOnSplit), ...others }
  const summary: Summary[] = []
  console.log('# Test split: trained on the other rows of the same benchmarks')
  printPairs(pairs, test, split, 'test split', summary)
  for (const pool of pools) printPool(pool)

  console.log('\n# Thirds: every prompt by a router that was trained on the other two thirds of all')
  const byThirds = trainByFolds(data, 3)
  printPairs(pairs, data.rows, { tollgate: tollgateScorer(data, byThirds), ...others }, 'thirds', summary)
  printPolicies(byThirds)

  console.log('\n# Leave one benchmark out: trained on all the others')
  const elsewhere = trainWithoutOwnBenchmark(data)
  printPairs(pairs, data.rows, { tollgate: tollgateScorer(data, elsewhere), ...others }, 'never seen', summary)
  printPolicies(elsewhere)
  const { 'zero-eval': zeroEval, 'live-code-bench': liveCodeBench, 'reasoning-gym': reasoningGym } = checkouts
  if (zeroEval !== undefined) {
    printInNoTraining('grade-school mathematics', heldHalf(readGradeSchool(zeroEval)), gradeSchoolPairs)
  }
  if (liveCodeBench !== undefined) {
    printInNoTraining('programming contests', heldHalf(readLiveCodeBench(liveCodeBench)), contestPairs)
  }
  if (reasoningGym !== undefined) printInNoTraining('Reasoning Gym', readReasoningGym(reasoningGym), gymPairs)
  printSummary(summary, [
    ...poolShares('test split', test, learnedOnSplit), ...poolShares('thirds', data.rows, byThirds),
    ...poolShares('never seen', data.rows, elsewhere)
  ])
  for (const { domain, models, guessed, published } of levelErrors(data, loadWeights())) {
    console.log(`Levels in ${domain}, each of ${models} models left out: off by ${guessed.toFixed(2)} guessed, ` +
      `${published.toFixed(2)} with published results`)
  }

  /** Measures the router as it is shipped on a benchmark that is in no training. */
  function printInNoTraining (
    name: string, rows: readonly TrainingRow[], pairs: readonly ModelPair[]
  ): void {
    console.log(`\n# ${name}: trained on all benchmarks, of which it is none`)
    const all = trainOn(data, data.rows)
    const routers = { tollgate: tollgateScorer(data, () => all), ...others }
    printPairs(pairs, rows, routers, name, summary)
  }

  /** What the pools in which knowing the benchmarks helps reach. */
  function poolShares (protocol: string, rows: readonly TrainingRow[], weightsOf: WeightsOf): PoolShare[] {
    return pools.flatMap(pool => {
      const routers = { tollgate: tollgateScorer(data, weightsOf), oracle }
      const { lines, zero } = poolLines(pool, rows, data, routers)
      const line = lines.find(({ router }) => router === 'tollgate')
      if (line === undefined || line.ofFamilies === null) return []
      return [{ pool: pool.id, protocol, zero, ...line }]
    })
  }

  function printPolicies (weightsOf: WeightsOf): void {
    for (const pool of poolsOf(pools, data)) {
      console.log(`\n${pool.id}, ${pool.models.length} models: policies beside the hull of the single models`)
      for (const { policy, cost, quality, gain, chosen } of policyLines(pool, data.rows, data, weightsOf)) {
        const models = chosen.map(([model, share]) => `${model} ${(100 * share).toFixed(0)} %`).join(', ')
        console.log(`  ${policy.padEnd(16)} quality ${quality.toFixed(4)} at $${(cost * 1000).toFixed(3)} per 1,000, ` +
          `${gain < 0 ? '' : '+'}${gain.toFixed(4)} to the hull: ${models}`)
      }
    }
  }

  function printPool (pool: EvaluationPool): void {
    const { lines, cheapest, best, zero } = poolLines(pool, test, data, split)
    const single = (name: string, { cost, quality }: typeof best) =>
      console.log(
        `  ${name.padEnd(16)} quality ${quality.toFixed(4)} at $${(cost * 1000).toFixed(3)} per 1,000`
      )
    console.log(`\n${pool.id}: AIQ of the single models (zero router) ${zero.toFixed(4)}`)
    single('always cheapest', cheapest)
    single('always best', best)
    for (const { router, aiq, recovered, ofFamilies } of lines) {
      const known = ofFamilies === null ? '' : `, ${percent(ofFamilies)} to one that knows the benchmarks`
      console.log(`  ${router.padEnd(16)} AIQ ${aiq.toFixed(4)}  ${percent(recovered)} of the way to the oracle${known}`)
    }
  }
}

/** Every other row: on the others, the rules of difficulty for this kind of task were chosen. */
function heldHalf (rows: readonly TrainingRow[]): TrainingRow[] {
  return rows.filter((_, at) => at % 2 === 1)
}

function percent (share: number): string {
  return `${(100 * share).toFixed(0)} %`
}

/** The mean APGR and that on MMLU of each router, by one way of holding prompts back. */
interface Summary {
  protocol: string
  mean: Record<string, number>
  mmlu: Record<string, number>
  interval: { low: number, high: number }
}

interface PoolShare extends PoolLine { pool: string, protocol: string, zero: number }

/** Prints the table of docs/routing.md. */
function printSummary (summary: readonly Summary[], shares: readonly PoolShare[]): void {
  console.log('\n# Summary, as in docs/routing.md\n')
  console.log(`| APGR | ${columns.join(' | ')} |\n|---${'|---'.repeat(columns.length)}|`)
  const line = (name: string, values: Record<string, number>) =>
    console.log(`| ${name} | ${columns.map(router => values[router]?.toFixed(3) ?? '').join(' | ')} |`)
  for (const { protocol, mean, mmlu } of summary) {
    line(`mean of the pairs, ${protocol}`, mean)
    if (Number.isFinite(mmlu.tollgate)) line(`MMLU, ${protocol}`, mmlu)
  }
  for (const { protocol, interval: { low, high } } of summary) {
    console.log(`\nmean of the pairs, ${protocol}: 95 % within ${low.toFixed(3)} to ${high.toFixed(3)}`)
  }
  for (const { pool, protocol, aiq, zero, ofFamilies } of shares) {
    console.log(`${pool}, ${protocol}: AIQ ${aiq.toFixed(3)}, of single models ${zero.toFixed(3)}: ` +
      `${percent(ofFamilies ?? 0)} of the way to a router that knows the benchmarks`)
  }
  for (const { title, unit, subject } of measureRouting(1)) {
    console.log(`${title}: ${subject.middle.toFixed(0)} ${unit}`)
  }
}

function printPairs (
  pairs: readonly ModelPair[], rows: readonly TrainingRow[], routers: Readonly<Record<string, Scorer>>,
  protocol: string, summary: Summary[]
): void {
  const all: PairLine[][] = []
  for (const pair of pairs) {
    const lines = pairLines(pair, rows, routers)
    all.push(lines)
    console.log(`\n${pair.id}: ${pair.strong} / ${pair.weak}${published[pair.id] === undefined ? '' : `\n  ${published[pair.id]}`}`)
    for (const { router, cpt50, cpt80, apgr, low, high } of lines) {
      console.log(`  ${router.padEnd(16)} CPT50 ${cpt50.toFixed(1).padStart(5)} %  CPT80 ${cpt80.toFixed(1).padStart(5)} %  ` +
        `APGR ${apgr.toFixed(3)} [${low?.toFixed(3)}, ${high?.toFixed(3)}]`)
    }
  }
  const named = (valueOf: (router: string) => number) =>
    Object.fromEntries(Object.keys(routers).map(router => [router, valueOf(router)]))
  const ofMmlu = all[pairs.findIndex(({ id }) => id === 'mmlu')] ?? []
  summary.push({
    protocol,
    mean: named(router => meanApgr(all, router)),
    interval: meanInterval(all, 'tollgate'),
    mmlu: named(router => ofMmlu.find(line => line.router === router)?.apgr ?? NaN)
  })
  console.log(`\nmean APGR: ${Object.keys(routers).map(router => `${router} ${
    meanApgr(all, router).toFixed(4)
  }`).join(', ')}`)
}
