import { EventEmitter } from 'node:events'
import t from 'tap'
import { createLink, type Channel } from '../../../../services/operations/workers/link.ts'

/** Two ends of a channel in one process; what is sent is copied, as between processes. */
function channelPair (): [Channel & EventEmitter & { connected: boolean }, Channel & EventEmitter] {
  const [one, two] = [new EventEmitter(), new EventEmitter()]
  const sendTo = (end: EventEmitter) => (message: unknown) => {
    setImmediate(() => end.emit('message', structuredClone(message)))
  }
  return [
    Object.assign(one, { connected: true, send: sendTo(two) }),
    Object.assign(two, { connected: true, send: sendTo(one) })
  ]
}

t.test('each end calls the other, also during a call', async t => {
  const [one, two] = channelPair()
  const parent = createLink(one, { handlers: { sum: async () => 1 + Number(await parent.call('count')) } })
  const worker = createLink(two, { handlers: { count: () => 7 } })
  t.same(await Promise.all([parent.call('count'), worker.call('sum'), parent.call('count')]), [7, 8, 7])
})

t.test('a failure, an unknown call and a closed channel reject', async t => {
  const [one, two] = channelPair()
  const parent = createLink(one, {})
  createLink(two, { handlers: { broken: () => { throw new Error('It is broken.') } } })
  await t.rejects(parent.call('broken'), { message: 'It is broken.' })
  await t.rejects(parent.call('other'), { message: 'Unknown call: other' })
  one.connected = false
  await t.rejects(parent.call('broken'), { message: /No response/ })
})

t.test('silence rejects', async t => {
  const [one, two] = channelPair()
  const parent = createLink(one, { timeoutMs: 20 })
  createLink(two, { handlers: { silent: () => new Promise(() => {}) } })
  await t.rejects(parent.call('silent'), { message: 'No response to silent within 20 ms' })
})

t.test('notes arrive in order', async t => {
  const [one, two] = channelPair()
  const values: number[] = []
  const last = Promise.withResolvers<void>()
  createLink(two, { notes: { value (value: number) { if (values.push(value) === 3) last.resolve() } } })
  const link = createLink(one, {})
  for (const value of [1, 2, 3]) link.notify('value', value)
  await last.promise
  t.same(values, [1, 2, 3])
})
