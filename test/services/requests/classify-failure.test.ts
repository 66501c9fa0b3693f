import t from 'tap'
import { blameOf, isUnsure, meaningOf, mostTelling } from '../../../services/requests/classify-failure.ts'
import { failure } from './helper.ts'

t.test('nobody else is asked about a request that is wrong, nor about one that was moderated', async t => {
  for (const kind of ['bad_request', 'moderated', 'too_large'] as const) {
    t.equal(meaningOf(failure(kind, { status: 400 }), false), 'stop', kind)
  }
  t.equal(meaningOf(failure('bad_request', { status: 400 }), true), 'model', 'a fallback may know less')
  t.equal(meaningOf(failure('moderated', { status: 400 }), true), 'stop')
})

t.test('a provider may have worked on what it did not refuse', async t => {
  t.equal(isUnsure(failure('network', {}, 'no')), false)
  t.equal(isUnsure(failure('network', {}, 'maybe')), true)
  t.equal(isUnsure(failure('timeout', {}, 'maybe')), true)
  t.equal(isUnsure(failure('overloaded', { status: 503 })), false)
  t.equal(isUnsure(failure('bad_reply', {})), true, 'an answer that cannot be read')
})

t.test('a deployment is not blamed for the request, for its rate, or for what the client does', async t => {
  t.equal(blameOf(failure('bad_request', { status: 400 })), 'works')
  t.equal(blameOf(failure('rate', { status: 429 })), 'nothing')
  t.equal(blameOf(failure('aborted', {})), 'nothing')
  t.equal(blameOf(failure('bad_reply', { status: 500, shouldRetry: false })), 'nothing')
  t.equal(blameOf(failure('auth', { status: 401 })), 'fails')
  t.equal(blameOf(failure('timeout', {})), 'fails')
})

t.test('of several failures the one is told that helps most, with the soonest time to come back', async t => {
  const [auth, network] = [failure('auth', { status: 401 }), failure('network', {}, 'maybe')]
  t.equal(mostTelling([]), undefined)
  t.equal(mostTelling([auth, network]), network)
  t.equal(mostTelling([network, auth]), network)
  const rates = [9000, 700, 4000].map(retryAfterMs => failure('rate', { status: 429, retryAfterMs }))
  t.match(mostTelling([auth, ...rates, network]), { kind: 'rate', details: { status: 429, retryAfterMs: 700 } })
  const without = failure('overloaded', { status: 503 })
  t.equal(mostTelling([network, without]), without)
})
