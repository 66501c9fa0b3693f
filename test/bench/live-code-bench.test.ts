import t from 'tap'
import { readLiveCodeBench } from '../../bench/evaluation/live-code-bench.ts'

t.test('one row per problem has the share of programs of each model that passed', async t => {
  const problem = (id: string, starter = '') =>
    ({ question_id: id, question_content: `Problem ${id}`, starter_code: starter })
  const result = (id: string, model: string, percent: number) => ({ question_id: id, model, 'pass@1': percent })
  const folder = t.testdir({
    submissions: {
      'Claude-3-Haiku': {
        'Scenario.codegeneration_10_0.2_eval_all.json': JSON.stringify([problem('a'), problem('b', 'class Solution:'), problem('c')])
      }
    },
    'livecodebench.github.io': {
      src: {
        mocks: {
          'performances_repair.json': JSON.stringify({
            performances: [
              result('a', 'Claude-3-Haiku', 10), result('a', 'O1-Mini-2024-09-12 (N=1)', 100), result('b', 'Claude-3-Haiku', 0)
            ]
          })
        }
      }
    }
  })
  const row = (id: string, content: string, y: Record<string, number>) =>
    ({ id, family: 'contest', messages: [{ role: 'user', content }], y })
  t.strictSame(readLiveCodeBench(folder), [
    row('a', 'Problem a', { 'claude-3-haiku-20240307': 0.1, 'o1-mini-2024-09-12': 1 }),
    row('b', 'Problem b\n\nclass Solution:', { 'claude-3-haiku-20240307': 0 })
  ])
})
