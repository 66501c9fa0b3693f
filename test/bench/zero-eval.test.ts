import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { answerIn, readGradeSchool } from '../../bench/evaluation/zero-eval.ts'

t.test('the answer is the number of the last answer, though the JSON is broken', async t => {
  t.equal(answerIn('```json\n{"reasoning": "16 - 7", "answer": "$1,018"}\n```'), 1018)
  t.equal(answerIn('{"answer": "3"} or rather {"answer": -4.5'), -4.5)
  t.equal(answerIn('{"answer": "none"}'), null)
  t.equal(answerIn('It is 18.'), null)
})

t.test('one row per question has the mark of each model', async t => {
  const folder = t.testdir()
  const results = join(folder, 'result_dirs', 'gsm')
  mkdirSync(results, { recursive: true })
  const answers = (...output: string[]) => JSON.stringify(output.map((text, at) => {
    return { id: `#${at}`, question: `Question ${at}`, answer: '18', output: [text] }
  }))
  writeFileSync(join(results, 'Right.json'), answers('{"answer": "18"}', '{"answer": "18.0"}'))
  writeFileSync(join(results, 'wrong.json'), answers('{"answer": "8"}', 'I cannot say.'))
  const row = (at: number) => ({
    id: `#${at}`, family: 'gsm', messages: [{ role: 'user', content: `Question ${at}` }], y: { right: 1, wrong: 0 }
  })
  t.strictSame(readGradeSchool(folder), [row(0), row(1)])
})
