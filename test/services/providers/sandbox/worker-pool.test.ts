import t from 'tap'
import { createWorkerPool } from '../../../../services/providers/sandbox/video/worker-pool.ts'

const program = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`)

/** Answers with the number of its thread and how much it has done. */
const counting = program(`
  import { parentPort, threadId } from 'node:worker_threads'
  let count = 0
  parentPort.on('message', work => {
    if (work === 'fail') throw new Error('broken')
    if (work !== 'wait') parentPort.postMessage(work === 'refuse' ? 'refused' : { threadId, count: ++count })
  })`)

interface Answer { threadId: number, count: number }

const never = new AbortController().signal
const read = (answer: unknown): Answer | null => typeof answer === 'string' ? null : answer as Answer

t.test('reuses an idle worker, and starts a second one while it is busy', async t => {
  const threads = createWorkerPool(counting)
  const first = await threads.run('count', never, read)
  const [second, other] = await Promise.all([threads.run('count', never, read), threads.run('count', never, read)])
  t.strictSame(second, { threadId: first.threadId, count: 2 })
  t.not(other.threadId, first.threadId)
  t.equal(other.count, 1)
})

t.test('replaces a worker that failed or was aborted', async t => {
  const threads = createWorkerPool(counting)
  const numbers = new Set<number>()
  for (const [work, error] of [['fail', /broken/], ['refuse', /refused/], ['wait', /abort/i]] as const) {
    numbers.add((await threads.run('count', never, read)).threadId)
    const signal = work === 'wait' ? AbortSignal.timeout(50) : never
    await t.rejects(threads.run(work, signal, read), error, work)
  }
  t.equal(numbers.size, 3)
})
