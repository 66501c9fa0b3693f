import t from 'tap'
import { peekFirst } from '../../../../services/providers/upstream/peek-first.ts'

async function * countTo (last: number, ended: string[] = []): AsyncGenerator<number, void, undefined> {
  try {
    for (let i = 1; i <= last; i++) yield i
  } finally {
    ended.push('ended')
  }
}

async function * failAfter (count: number): AsyncGenerator<number, void, undefined> {
  yield * countTo(count)
  throw new Error('failed')
}

t.test('the whole sequence is there, however long', async t => {
  t.same(await Array.fromAsync(await peekFirst(countTo(3))), [1, 2, 3])
  t.same(await Array.fromAsync(await peekFirst(countTo(0))), [])
})

t.test('a source that fails before its first item rejects, later it fails where it is read', async t => {
  await t.rejects(peekFirst(failAfter(0)), { message: 'failed' })
  const items: number[] = []
  await t.rejects(async () => {
    for await (const item of await peekFirst(failAfter(1))) items.push(item)
  }, { message: 'failed' })
  t.same(items, [1])
})

t.test('a reader that stops early ends the source', async t => {
  const ended: string[] = []
  for await (const item of await peekFirst(countTo(3, ended))) if (item === 1) break
  t.same(ended, ['ended'])
})
