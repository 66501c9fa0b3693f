import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createBodyTurns } from '../../../services/http/body-turns.ts'

const here = { destroyed: false }

t.test('large bodies of a key rest three times as long as they took, those of others do not wait', async t => {
  const inTurn = createBodyTurns()
  const begun: { key: string, atMs: number }[] = []
  const work = (key: string, ms: number) => inTurn({ key, socket: here }, async () => {
    begun.push({ key, atMs: performance.now() })
    await sleep(ms)
  })
  const startedMs = performance.now()
  await Promise.all([work('one', 50), work('one', 0), work('other', 0)])
  t.same(begun.map(({ key }) => key), ['one', 'other', 'one'])
  const waitedMs = (begun[2]?.atMs ?? 0) - startedMs
  t.ok(waitedMs > 190, `${waitedMs} ms`)
})

t.test('a client that leaves while it waits makes no work, and a failure ends the turn', async t => {
  const inTurn = createBodyTurns()
  const leaving = { destroyed: false }
  let ran = 0
  const work = async () => { ran++ }
  const failed = inTurn({ key: 'one', socket: here }, async () => { throw new Error('broken') })
  const left = inTurn({ key: 'one', socket: leaving }, work)
  leaving.destroyed = true
  await t.rejects(failed, /broken/)
  await left
  t.equal(ran, 0)
  await inTurn({ key: 'one', socket: here }, work)
  t.equal(ran, 1)
})
