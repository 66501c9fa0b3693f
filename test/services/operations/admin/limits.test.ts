import t from 'tap'
import { mergeLimits } from '../../../../services/operations/admin/limits.ts'
import { noLimits, toLimitSet } from '../../../../services/shared/limits.ts'

const before = { requestsPerMinute: 60, tokensPerMinute: 1000, concurrentRequests: 4 }

t.test('a given limit replaces the one before, null removes it, and an absent one stays', async t => {
  t.same(mergeLimits({}), noLimits)
  t.same(mergeLimits({}, before), before)
  t.same(mergeLimits({ requests_per_minute: 7, tokens_per_minute: null }, before),
    { requestsPerMinute: 7, tokensPerMinute: null, concurrentRequests: 4 })
  t.same(mergeLimits({ concurrent_requests: 2 }), { ...noLimits, concurrentRequests: 2 })
})

t.test('limits are shown in the form of the admin API', async t => {
  t.same(toLimitSet(before), { requests_per_minute: 60, tokens_per_minute: 1000, concurrent_requests: 4 })
  t.same(mergeLimits(toLimitSet(before)), before)
})
