import t from 'tap'
import { isMissingModel } from '../../../services/providers/refusals.ts'
import { blameOf, isUnsure, meaningOf, mostTelling } from '../../../services/requests/classify-failure.ts'
import { UpstreamError } from '../../../services/shared/errors.ts'
import { failure } from './helper.ts'

t.test('nobody else is asked about a request that is wrong, nor about one that was moderated', async t => {
  for (const kind of ['bad_request', 'moderated', 'too_large'] as const) {
    t.equal(meaningOf(failure(kind, { status: 400 }), false), 'stop', kind)
  }
  t.equal(meaningOf(failure('bad_request', { status: 400 }), true), 'model', 'a fallback may know less')
  t.equal(meaningOf(failure('moderated', { status: 400 }), true), 'stop')
  const elsewhere = new UpstreamError('bad_request', 'yes', 'This model is only supported in v1/responses.', { status: 400 })
  t.equal(meaningOf(elsewhere, false), 'refused', 'other candidates may serve the request')
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
  t.equal(blameOf(failure('bad_request', {}, 'no')), 'nothing', 'it was not called')
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
  const unsent = failure('bad_request', {}, 'no')
  t.equal(mostTelling([unsent, without]), without, 'that one API lacks something is no reason if another was asked')
  t.equal(mostTelling([unsent]), unsent)
})

t.test('a missing model is told from other things that a client names', async t => {
  const said = (message: string, code: string | null = null) =>
    isMissingModel(new UpstreamError('not_found', 'yes', message, { status: 404, code }))
  for (const message of [
    'The model `gpt-0` does not exist or you do not have access to it.',
    'model: claude-0',
    'models/gemini-0 is not found for API version v1beta, or is not supported for generateContent.',
    'model "llama0" not found, try pulling it first',
    'Model not found'
  ]) t.ok(said(message), message)
  t.ok(said('Not found.', 'model_not_found'))
  for (const message of [
    'No such File object: model', 'No such container: model-of-mine', "Response 'a model' was not found.",
    'Item with id "model" not found.', 'Invalid URL'
  ]) t.notOk(said(message), message)
})
