import t from 'tap'
import { compileGlob } from '../../../services/shared/glob.ts'
import { processorMs } from '../../helpers/processor-time.ts'

t.test('a star stands for any text', async (t) => {
  const cases = [
    ['gpt-*', ['gpt-', 'gpt-4o', 'gpt-4/x'], ['gpt', 'a-gpt-4']],
    ['*', ['', 'anything/at all'], []],
    ['o1', ['o1'], ['o1-mini', 'o', '']],
    ['*-mini', ['-mini', 'gpt-mini'], ['gpt-mini-2']],
    ['a*a', ['aa', 'aba'], ['a', 'ab']],
    ['a*b*c', ['abc', 'a--b--c', 'abcbc'], ['ac', 'acb']],
    ['open-mi*tral-*', ['open-mistral-7b', 'open-mixtral-8x7b'], ['open-mistral']],
    ['a**b', ['ab', 'axb'], ['a']],
    ['a.c', ['a.c'], ['abc']],
    ['', [''], ['a']]
  ] as const
  for (const [glob, yes, no] of cases) {
    const matches = compileGlob(glob)
    for (const text of yes) t.ok(matches(text), `${glob} matches "${text}"`)
    for (const text of no) t.notOk(matches(text), `${glob} does not match "${text}"`)
  }
})

t.test('many stars take no long time', async (t) => {
  const startedMs = processorMs()
  t.notOk(compileGlob('*a'.repeat(100) + 'b')('a'.repeat(100_000)))
  t.ok(processorMs() - startedMs < 4000)
})
