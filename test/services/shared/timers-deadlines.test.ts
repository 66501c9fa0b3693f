import t from 'tap'
import { Deadlines } from '../../../services/shared/timers.ts'

t.test('what is due is told once, what was moved or removed is not', async t => {
  const deadlines = new Deadlines(5)
  const told: string[] = []
  const watch = (name: string, delayMs: number) => {
    const watched = { slot: -1, dueMs: 0, onDeadline: () => { told.push(name) } }
    deadlines.add(watched)
    watched.dueMs = deadlines.nowMs + delayMs
    return watched
  }
  watch('first', 1)
  const moved = watch('moved', 1)
  deadlines.delete(watch('removed', 1))
  moved.dueMs += 1e6
  await new Promise<void>(resolve => {
    deadlines.add({ slot: -1, dueMs: deadlines.nowMs + 20, onDeadline: resolve })
  })
  t.same(told, ['first'])
  t.equal(deadlines.size, 1, 'only the moved one is still watched')
  deadlines.delete(moved)
  t.equal(deadlines.size, 0)
})
