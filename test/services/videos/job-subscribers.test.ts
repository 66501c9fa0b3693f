import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createJobSubscribers } from '../../../services/videos/job-subscribers.ts'
import type { Job } from '../../../services/videos/job.ts'

const job = { id: 'job_1' } as Job
const open = new Promise<void>(() => {})

function subscribers (finished: () => Promise<Job[]>, owned: string[] = [], errors: unknown[] = []) {
  return createJobSubscribers({ finished }, 1, id => owned.includes(id), error => { errors.push(error) })
}

t.test('all that wait for a job get it when this node ends it', async t => {
  const jobSubscribers = subscribers(async () => t.fail('the database is not read') as never, ['job_1'])
  const waits = [jobSubscribers.wait('job_1', open), jobSubscribers.wait('job_1', open)]
  jobSubscribers.ended(job)
  t.same(await Promise.all(waits), [job, job])
  jobSubscribers.stop()
})

t.test('a job of another node is looked for until the database has its end, also after an outage', async t => {
  const errors: unknown[] = []
  const reads = [() => Promise.reject(new Error('away')), async () => [], async () => [job]]
  const jobSubscribers = subscribers(async () => await (reads.shift() ?? reads.at(-1))!(), [], errors)
  const waiting = jobSubscribers.wait('job_1', open)
  // The registry's timer does not keep the process alive.
  const alive = setInterval(() => {}, 1_000)
  t.equal(await waiting, job)
  clearInterval(alive)
  t.match(errors, [{ message: 'away' }])
  jobSubscribers.stop()
})

t.test('a client that leaves gets nothing, and the others still wait', async t => {
  const left = Promise.withResolvers<void>()
  const jobSubscribers = subscribers(async () => [], ['job_1'])
  const [leaving, staying] = [jobSubscribers.wait('job_1', left.promise), jobSubscribers.wait('job_1', open)]
  left.resolve()
  t.equal(await leaving, null)
  await turn()
  jobSubscribers.ended(job)
  t.equal(await staying, job)
  jobSubscribers.stop()
})
