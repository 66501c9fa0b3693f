import t from 'tap'
import { UpstreamError, type UpstreamErrorKind } from '../../../services/shared/errors.ts'
import { fromUpstream } from '../../../services/http/upstream-errors.ts'

const key = 'sk-provider-secret'

t.test('every kind of upstream failure has its own status and code', async t => {
  const expected: Record<UpstreamErrorKind, [number, string, string | null]> = {
    bad_request: [400, 'invalid_request_error', null],
    moderated: [400, 'invalid_request_error', 'content_policy_violation'],
    not_found: [404, 'invalid_request_error', 'model_not_found'],
    too_large: [413, 'invalid_request_error', 'request_too_large'],
    rate: [429, 'requests', 'rate_limit_exceeded'],
    aborted: [499, 'invalid_request_error', 'request_cancelled'],
    auth: [502, 'server_error', 'upstream_auth'],
    quota: [502, 'server_error', 'upstream_quota'],
    network: [502, 'server_error', 'upstream_unreachable'],
    bad_reply: [502, 'server_error', 'upstream_bad_reply'],
    overloaded: [503, 'service_unavailable_error', 'server_is_overloaded'],
    timeout: [504, 'server_error', 'upstream_timeout']
  }
  for (const [kind, [status, type, code]] of Object.entries(expected)) {
    const answer = fromUpstream(new UpstreamError(kind as UpstreamErrorKind, 'yes', 'Said the provider.'))
    t.match(answer, { status, type, code }, kind)
  }
})

t.test('what the provider says about the request reaches the client, cut to a bearable length', async t => {
  const said = new UpstreamError('bad_request', 'yes', 'Invalid temperature.', { param: 'temperature', code: 'bad' })
  t.match(fromUpstream(said), { status: 400, message: 'Invalid temperature.', param: 'temperature', code: 'bad' })
  t.ok(fromUpstream(new UpstreamError('bad_request', 'yes', 'x'.repeat(50_000))).message.length <= 1001)
  t.match(fromUpstream(new UpstreamError('bad_request', 'yes', '')).message, /\w/, 'a provider without words')
})

t.test('what the provider says about our key and our money goes nowhere', async t => {
  const kinds: UpstreamErrorKind[] = ['auth', 'quota', 'rate', 'not_found', 'bad_reply']
  for (const kind of kinds) {
    const answer = fromUpstream(new UpstreamError(kind, 'yes', `Incorrect API key: ${key}`, { status: 401, code: key }))
    t.notMatch(JSON.stringify(answer.toBody()), key, kind)
  }
  for (const kind of ['auth', 'quota'] as const) {
    const { cause } = fromUpstream(new UpstreamError(kind, 'yes', key, { status: 403 }))
    t.equal(cause, undefined, `${kind}: nothing to log that could hold the key`)
  }
})

t.test('a provider that fails is told from one whose answer makes no sense', async t => {
  const said = (status?: number) => fromUpstream(new UpstreamError('bad_reply', 'yes', 'x', { status })).message
  t.equal(said(500), 'The provider failed (HTTP 500).')
  t.equal(said(200), 'The provider\'s response cannot be used.')
  t.equal(said(), 'The provider\'s response cannot be used.')
})

t.test('a client is told when to come back, in seconds and in milliseconds', async t => {
  for (const kind of ['rate', 'overloaded'] as const) {
    const answer = fromUpstream(new UpstreamError(kind, 'yes', '', { retryAfterMs: 2300 }))
    t.strictSame(answer.headers, { 'retry-after': '3', 'retry-after-ms': '2300' })
    t.match(fromUpstream(new UpstreamError(kind, 'yes', '')).headers, { 'retry-after': '1' })
    const soon = fromUpstream(new UpstreamError(kind, 'yes', '', { retryAfterMs: 20 }))
    t.strictSame(soon.headers, { 'retry-after': '1', 'retry-after-ms': '20' })
  }
})
