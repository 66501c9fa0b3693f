import t from 'tap'
import { byModel } from '../../../../services/providers/video-jobs/by-model.ts'
import type { VideoProvider } from '../../../../services/providers/provider-video.ts'
import { luma } from '../../../servers/videos/luma.ts'
import { lumaAgents } from '../../../servers/videos/luma-agents.ts'
import { connect, find, signal, taskFor } from './helper.ts'

/** A provider that names itself in its handles; it writes down what is called with which of them. */
function named (name: string, calls: string[]): VideoProvider {
  return {
    polling: { minMs: 1, maxMs: 1, deadlineMs: 1 },
    submitsOnce: true,
    choices: () => ({ seconds: 5, size: '1280x720', sound: 'never' }),
    check: ({ model }) => { calls.push(`${name} checks ${model}`) },
    submit: async () => ({ handle: `${name}-1` }),
    async poll (handle) {
      calls.push(`${name} polls ${handle}`)
      return { state: 'running', progress: null }
    },
    find: async () => `${name}-found`
  }
}

t.test('the model decides which API is called, the handle which one is polled', async t => {
  const calls: string[] = []
  const provider = byModel(named('old', calls), named('new', calls), { mark: 'n:', serves: model => model === 'm2' })
  const [m1, m2] = ['m1', 'm2'].map(model => taskFor(luma, { model }))
  if (m1 === undefined || m2 === undefined) return t.fail('no tasks')
  provider.check(m1)
  provider.check(m2)
  for (const task of [m1, m2]) await provider.poll((await provider.submit(task, signal())).handle, signal())
  t.same(calls, ['old checks m1', 'new checks m2', 'old polls old-1', 'new polls new-1'])
  t.equal(await find(provider, m1), 'old-found')
  t.equal(await find(provider, m2), 'n:new-found')
  t.equal(provider.cancel, undefined)
})

t.test('a job can be cancelled where the API that serves its model can', async t => {
  const old = await connect(t, luma)
  const agents = await connect(t, lumaAgents)
  const { handle } = await old.provider.submit(taskFor(luma), signal())
  const uncancelled = await agents.provider.submit(taskFor(lumaAgents), signal())
  t.equal(old.provider.canCancel?.(handle), true)
  t.equal(agents.provider.canCancel?.(uncancelled.handle), false)
  await agents.provider.cancel?.(uncancelled.handle, signal())
  t.same(agents.server.requests.map(({ kind }) => kind), ['submit'])
})
