import fc from 'fast-check'
import t from 'tap'
import { bodyHashOf, joinable, joinMs } from '../../../../services/requests/joins/joinable.ts'
import type { JobTask } from '../../../../services/providers/provider-video.ts'

t.test('what a request may join', t => fc.assert(fc.property(
  fc.array(fc.record({
    id: fc.uuid(),
    createdAt: fc.integer({ min: 0, max: 4_000_000 }),
    delivered: fc.boolean(),
    awaited: fc.boolean(),
    finishedAt: fc.constant(null),
    state: fc.constantFrom('running', 'succeeded'),
    expiresAt: fc.option(fc.integer({ min: 3_000_000, max: 5_000_000 })),
    bodyHash: fc.constantFrom('same', 'other')
  }), { maxLength: 8 }),
  fc.integer({ min: 0, max: 2 }),
  (jobs, retryCount) => {
    const nowMs = 4_000_000
    const found = joinable(jobs, { key: null, retryCount, bodyHash: 'same' }, nowMs, ({ awaited }) => awaited)
    const limitMs = retryCount > 0 ? joinMs.retry : joinMs.silent
    const isKept = ({ state, expiresAt }: typeof jobs[number]): boolean =>
      state === 'succeeded' && expiresAt !== null && nowMs < expiresAt
    const isRecent = ({ createdAt }: typeof jobs[number]): boolean => nowMs - createdAt < limitMs
    for (const job of found) {
      t.notOk(job.delivered)
      t.equal(job.bodyHash, 'same')
      t.ok(isRecent(job) || isKept(job))
      t.notOk(job.awaited, 'no client loses its result')
    }
    const turnOf = (job: typeof jobs[number]): number => isRecent(job) ? 0 : 1
    const turns = found.map(turnOf)
    t.strictSame(turns, turns.toSorted(), 'old ones last')
    const wanted = jobs.filter(job => !job.delivered && job.bodyHash === 'same' &&
      !job.awaited && (isRecent(job) || isKept(job)))
    t.equal(found.length, wanted.length)
  }), { numRuns: 200 }) ?? Promise.resolve())

const task: JobTask = {
  prompt: 'a', seconds: 4, size: { width: 1280, height: 720 }, isSizeAsked: false, aspectRatio: null, seed: null, audio: false, firstFrame: null, lastFrame: null
}

t.test('every field of a task makes another body, and their order none', async t => {
  const hash = bodyHashOf('film', task)
  t.equal(bodyHashOf('film', Object.fromEntries(Object.entries(task).reverse()) as unknown as JobTask), hash)
  const others: Partial<JobTask>[] = [
    { prompt: 'b' }, { seconds: 5 }, { size: { width: 4, height: 2 } }, { aspectRatio: '1:1' }, { seed: 4 }, { audio: true }, { isSizeAsked: true },
    { firstFrame: 'https://x/a.png' }, { lastFrame: 'https://x/a.png' }, { prompt: 'a\nseconds' }
  ]
  const hashes = new Set([hash, bodyHashOf('other', task), ...others.map(more => bodyHashOf('film', { ...task, ...more }))])
  t.equal(hashes.size, others.length + 2)
})
