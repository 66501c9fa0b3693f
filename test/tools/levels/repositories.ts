import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { benchmarks } from '../../../tools/levels/sources.ts'

/** Models of the training data, by which benchmarks are placed, and their made-up shares. */
const known: readonly (readonly [string, number])[] = [
  ['gpt-4o-2024-08-06', 0.7], ['claude-3-haiku-20240307', 0.4], ['gemini-1.5-pro', 0.6]
]

/** When the files without dates were committed. */
export const committed = new Date('2026-03-10T12:00:00Z')

/** Writes small repositories of the forms that are read, with made-up results of known models and `new-1`. */
export function writeRepositories (folder: string): void {
  const models = [...known, ['new-1', 0.8] as const]
  const percent = (share: number) => (100 * share).toFixed(1)
  const files: Record<string, string> = {}
  const aider = models.map(([model, share]) =>
    `- model: ${model} (no thinking)\n  pass_rate_2: ${percent(share)}\n  date: 2026-01-02\n`).join('')
  const pair = '- model: new-1 + new-2\n  pass_rate_2: 99\n  date: 2026-01-02\n'
  for (const name of ['polyglot', 'edit']) files[`Aider-AI/aider/aider/website/_data/${name}_leaderboard.yml`] = aider + pair
  for (const [model, share] of models) {
    const scores = { pass_1: 100 * share }
    files[`sierra-research/tau2-bench/web/leaderboard/public/submissions/${model}/submission.json`] = JSON.stringify({
      model_name: model, submission_date: '2026-02-03', results: { retail: scores, airline: scores, banking_knowledge: scores }
    })
    const folder = `JonathanChavezTamales/llm-leaderboard/data/organizations/maker/models/${model}`
    files[`${folder}/model.json`] = JSON.stringify({ model_id: model, release_date: '2026-01-01' })
    const ids = Object.keys(benchmarks).filter(id => id.startsWith('reported-')).map(id => id.slice('reported-'.length))
    files[`${folder}/benchmarks.json`] =
      JSON.stringify(ids.map(id => ({ benchmark_id: id, normalized_score: share })))
  }
  const voice = { model_name: 'new-1', submission_date: '2026-02-04', modality: 'voice', results: { retail: { pass_1: 1 } } }
  files['sierra-research/tau2-bench/web/leaderboard/public/submissions/voice/submission.json'] = JSON.stringify(voice)
  files['openai/simple-evals/README.md'] = [
    '# Results', '', '| Model | Prompt | MMLU | GPQA [^8] | MATH [^6] | SimpleQA', '|:--:|:--:|:--:|:--:|:--:|:--:|',
    '| **A family** | | | | | |',
    ...models.map(([model, share]) => `| [${model}](https://a.test) | n/a | 90 | ${percent(share)} | ${percent(share)} | n/a |`),
    '| new-1-high [^1] | n/a | 99 | 99 | 99 | 99 |', '', 'Text | with a bar'
  ].join('\n')
  files['openai/simple-evals/multilingual_mmlu_benchmark_results.md'] = [
    `| Language | ${models.map(([model]) => model).join(' | ')} |`, `|${' :-: |'.repeat(5)}`,
    `| Yoruba |${' **0.1** |'.repeat(4)}`, `| Average | ${models.map(([, share]) => `**${share}**`).join(' | ')} |`
  ].join('\n')
  files['vectara/hallucination-leaderboard/README.md'] = [
    '|Model|Hallucination Rate|Factual Consistency Rate|', '|----|----:|----:|',
    ...models.map(([model, share]) => `|maker/${model}|${percent(1 - share)} %|${percent(share)} %|`)
  ].join('\n')
  files['NVIDIA/RULER/README.md'] = [
    '|Models|Effective Length|32K|64K|', '|:-:|:-:|:-:|:-:|',
    // Not all rows begin with a bar.
    ...models.map(([model, share]) => `[A label*](https://huggingface.co/maker/${model}) (7B)|64K|99|<ins>${percent(share)}</ins>|`)
  ].join('\n')
  files['allenai/WildBench/leaderboard/data_dir/all_stat_wildbench.2000.json'] =
    JSON.stringify(Object.fromEntries(models.map(([model, share]) => [`${model}@together`, { WB_score: 20 * (9 * share - 4) }])))
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    utimesSync(file, committed, committed)
  }
}
