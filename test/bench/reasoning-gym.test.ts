import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { gymPairs, readReasoningGym } from '../../bench/evaluation/reasoning-gym.ts'

const runs = join('reasoninggym-paper-experiments', 'zero-shot')

function writeTask (folder: string, path: string, scores: (number | null)[][]): void {
  const file = join(folder, runs, path)
  mkdirSync(dirname(file), { recursive: true })
  const results = scores.map((own, at) => {
    return { question: `Question ${at}`, completions: own.map(score => ({ score })) }
  })
  writeFileSync(file, JSON.stringify({ results }))
}

t.test('one row per question has the mean score of each model', async t => {
  const folder = t.testdir()
  writeTask(folder, 'easy/openai_o3-mini_20250315_181742/logic/aiw.json', [[1, 0], [1.5, null]])
  writeTask(folder, 'easy/anthropic_claude-3.5-sonnet_20250315_163713/logic/aiw.json', [[0], [null]])
  writeFileSync(join(folder, runs, 'easy', 'openai_o3-mini_20250315_181742', 'summary.json'), '{}')
  const row = (at: number, y: Record<string, number>) => ({
    id: `logic/aiw/Question ${at}`,
    family: 'gym',
    sub: 'logic/aiw',
    messages: [{ role: 'user', content: `Question ${at}` }],
    y
  })
  t.strictSame(readReasoningGym(folder), [
    row(0, { 'claude-3-5-sonnet': 0, 'o3-mini': 0.5 }), row(1, { 'o3-mini': 1 })
  ])
})

t.test('the models of the pairs have the names of the runs', async t => {
  const folder = t.testdir()
  const runsOf = [
    'deepseek_deepseek-r1', 'meta-llama_llama-3.3-70b-instruct', 'openai_o3-mini', 'anthropic_claude-3.5-sonnet',
    'meta-llama_llama-4-maverick', 'meta-llama_llama-4-scout'
  ]
  for (const run of runsOf) writeTask(folder, `hard/${run}_20250408_155914/logic/aiw.json`, [[1]])
  const [row] = readReasoningGym(folder)
  t.strictSame(
    Object.keys(row?.y ?? {}).toSorted(),
    gymPairs.flatMap(({ strong, weak }) => [strong, weak]).toSorted()
  )
})
