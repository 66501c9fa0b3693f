import t from 'tap'
import { limitReached, spanText, tooLarge } from '../../../../services/keys/limits/errors.ts'

const headers = { 'x-ratelimit-limit-tokens': '100' }

t.test('a duration is written as OpenAI writes it', async t => {
  const cases: [number, string][] = [
    [0, '0ms'], [0.2, '1ms'], [120, '120ms'], [1000, '1s'], [1500, '1.5s'], [59_999, '59.999s'], [60_000, '1m0s'],
    [90_001, '1m31s'], [360_000, '6m0s']
  ]
  for (const [ms, text] of cases) t.equal(spanText(ms), text)
})

t.test('a reached limit says which, how much is used, and when to try again', async t => {
  const refusal = { scope: 'account:team:a', limit: 100, left: 10, need: 30, waitMs: 1500, headers }
  t.match(limitReached({ ...refusal, kind: 'tokens' }), {
    status: 429,
    type: 'tokens',
    code: 'rate_limit_exceeded',
    message: 'Rate limit reached for account `team:a` on tokens per min (TPM): Limit 100, Used 90, Requested 30. ' +
      'Please try again in 1.5s.',
    headers: { ...headers, 'retry-after': '2', 'retry-after-ms': '1500' }
  })
  t.match(limitReached({ ...refusal, kind: 'concurrent', waitMs: 1 }), {
    type: 'requests', message: /on concurrent requests: /, headers: { 'retry-after': '1' }
  })
})

t.test('a request above the whole limit is not to be retried', async t => {
  const error = tooLarge({ scope: 'key:a', kind: 'tokens', limit: 100, need: 130, headers })
  t.match(error, { status: 429, message: /^Request too large for key `a` .*: Limit 100, Requested 130\. / })
  t.same(error.headers, { ...headers, 'x-should-retry': 'false' })
})
