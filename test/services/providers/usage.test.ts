import t from 'tap'
import { usageOf } from '../../../services/providers/gemini/usage.ts'
import { readImageUsage } from '../../../services/providers/image-api/usage.ts'
import { videoLength } from '../../../services/providers/provider-video.ts'
import { readUsage, tokenCount } from '../../../services/providers/usage.ts'
import { reportedCost } from '../../../services/providers/reported-cost.ts'

/** What providers must not send as a number of tokens, of seconds or of dollars. */
const wrong = [
  -1, 0.5, 2 ** 33, Number.MAX_SAFE_INTEGER, 1e300, Infinity, NaN,
  '7', 'NaN', '', true, [], [7], {}, { n: 7 }
]

t.test('a count of tokens is a whole number up to 2^32', async t => {
  for (const count of [0, 1, 1e9, 2 ** 32 - 1, 2 ** 32]) t.equal(tokenCount(count), count)
  for (const value of [...wrong, null, undefined]) t.equal(tokenCount(value), undefined)
})

t.test('a reported cost is rounded up to nano-USD, and must be one that the ledger can hold', async t => {
  for (const [value, nanoPerUnit, nano] of [
    [0, 1e9, 0], [0.04, 1e9, 40_000_000], [0.000123456, 1e9, 123_456], [0.1 + 0.2, 1e9, 300_000_000],
    [33, 0.1, 4], [37_756_000, 0.1, 3_775_600], [9_007_199, 1e9, 9_007_199e9]
  ] as const) t.equal(reportedCost(value, nanoPerUnit), nano)
  for (const value of [-1, 1e7, 1e300, Infinity, NaN, '0.1', null, undefined, [1], {}]) {
    t.equal(reportedCost(value, 1e9), null, String(value))
  }
})

t.test('a usage whose counts are no counts is none, so that an estimate is charged', async t => {
  for (const value of wrong) {
    const usage = { prompt_tokens: 5, completion_tokens: value }
    t.equal(readUsage({ usage }), null, JSON.stringify(usage))
    t.equal(readUsage({ usage: { prompt_tokens: value, completion_tokens: 5 } }), null)
    t.equal(usageOf({ promptTokenCount: 5, candidatesTokenCount: value }), null)
    t.equal(usageOf({ promptTokenCount: value, candidatesTokenCount: 5 }), null)
    t.equal(usageOf({ promptTokenCount: 5, thoughtsTokenCount: value }), null)
    t.equal(readImageUsage({ input_tokens: 5, output_tokens: value }), null)
    t.equal(readImageUsage({ input_tokens: value, output_tokens: 5 }), null)
  }
  for (const usage of [null, [], 7, '{}', {}, { total_tokens: 7 }, { prompt_tokens: 7 }]) {
    t.equal(readUsage({ usage }), null)
  }
  t.match(readUsage({ usage: { prompt_tokens: 0, completion_tokens: 0 } }), { prompt: 0, completion: 0 }, 'zero is one')
  t.match(readUsage({ usage: { prompt_tokens: 5, total_tokens: 7 } }), { prompt: 5, completion: 2 })
  t.match(usageOf({ promptTokenCount: 5, candidatesTokenCount: null }), { completion_tokens: 0 })
})

t.test('details that are no counts are left out', async t => {
  for (const value of wrong) {
    const usage = {
      prompt_tokens: 5,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: value, audio_tokens: value },
      completion_tokens_details: { reasoning_tokens: value, audio_tokens: value }
    }
    t.strictSame(JSON.stringify(readUsage({ usage })), '{"prompt":5,"completion":7}')
    t.match(usageOf({ promptTokenCount: 5, cachedContentTokenCount: value, promptTokensDetails: value }),
      { prompt_tokens_details: { cached_tokens: 0 } })
  }
})

t.test('a length of a video is at most a day', async t => {
  for (const seconds of [0.04, 5, 86_400]) t.equal(videoLength(seconds), seconds)
  for (const seconds of [0, -1, 86_401, 2 ** 32 - 1, 1e300, Infinity, NaN, null]) {
    t.equal(videoLength(seconds), null)
  }
})
