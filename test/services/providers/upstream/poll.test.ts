import t from 'tap'
import { UpstreamError, type UpstreamErrorKind } from '../../../../services/shared/errors.ts'
import { poll } from '../../../../services/providers/upstream/poll.ts'
import { rejection } from '../../../helpers/thrown.ts'

const pace = { firstMs: 1, longestMs: 2, deadlineMs: 10_000 }
const signal = new AbortController().signal
const failed = (kind: UpstreamErrorKind) => new UpstreamError(kind, 'no', 'It failed.')

t.test('asks until there is an answer', async t => {
  let asked = 0
  t.equal(await poll(async () => ++asked < 4 ? null : 'done', pace, signal), 'done')
  t.equal(asked, 4)
})

t.test('a failure that passes is asked again, five in a row are not', async t => {
  let asked = 0
  const answer = await poll(async () => {
    asked += 1
    if (asked % 6 !== 0) throw failed('network')
    return asked < 12 ? null : 'done'
  }, pace, signal)
  t.equal(answer, 'done', 'an answer in between begins a new row')
  asked = 0
  const asking = poll(async () => {
    asked += 1
    throw failed('overloaded')
  }, pace, signal)
  t.match(await rejection(asking), { kind: 'overloaded', sent: 'yes' }, 'what was submitted stays so')
  t.equal(asked, 6)
})

t.test('a refusal ends it at once', async t => {
  let asked = 0
  const asking = poll(async () => {
    asked += 1
    throw failed('auth')
  }, pace, signal)
  t.match(await rejection(asking), { kind: 'auth', sent: 'yes' })
  t.equal(asked, 1)
  const bug = poll(async () => { throw new TypeError('a bug') }, pace, signal)
  t.match(await rejection(bug), { name: 'TypeError' })
})

t.test('it ends with its deadline, and with its signal', async t => {
  t.match(await rejection(poll(async () => null, { ...pace, deadlineMs: 20 }, signal)), {
    kind: 'timeout', message: 'The provider did not finish within 20 ms.'
  })
  const leaving = new AbortController()
  const asking = poll(async () => {
    leaving.abort()
    return null
  }, pace, leaving.signal)
  t.match(await rejection(asking), { kind: 'aborted' })
})
