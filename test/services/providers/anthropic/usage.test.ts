import t from 'tap'
import { noCounts, toUsage, updateCounts } from '../../../../services/providers/anthropic/usage.ts'

t.test('counts are totals, of which later ones replace earlier ones', async t => {
  const begun = updateCounts(noCounts, { input_tokens: 5, cache_read_input_tokens: 20, output_tokens: 1 })
  const ended = updateCounts(begun, { output_tokens: 7, input_tokens: null })
  const details = { prompt_tokens_details: { cached_tokens: 20 } }
  t.match(toUsage(ended), { prompt_tokens: 25, completion_tokens: 7, ...details })
})

t.test('tokens kept for an hour are counted apart, and kept when a later usage lacks them', async t => {
  const written = { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 6 }
  const begun = updateCounts(noCounts, {
    input_tokens: 5, output_tokens: 1, cache_creation_input_tokens: 10, cache_creation: written
  })
  const ended = updateCounts(begun, { output_tokens: 7, cache_creation_input_tokens: 10 })
  const details = { cache_write_tokens: 10, cache_write_1h_tokens: 6 }
  t.match(toUsage(ended), { prompt_tokens: 15, prompt_tokens_details: details })
  t.equal(updateCounts(begun, { cache_creation: { ephemeral_1h_input_tokens: -1 } }).input, null)
  t.equal(updateCounts(begun, { cache_creation: null }).cacheWrite1h, 6)
  const short = updateCounts(noCounts, { input_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: 0 } })
  t.notOk('cache_write_1h_tokens' in (toUsage(short).prompt_tokens_details ?? {}))
})

const names = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']

t.test('a count that is none makes the usage unknown, until all are known again', async t => {
  const begun = updateCounts(noCounts, { input_tokens: 5, output_tokens: 1 })
  for (const value of [-1, 0.5, 2 ** 33, 1e300, NaN, '7', [], {}, true]) {
    for (const name of names) {
      const wrong = updateCounts(begun, { [name]: value })
      t.equal(wrong.input, null, `${name}: ${JSON.stringify(value)}`)
      t.equal(updateCounts(wrong, { output_tokens: 7 }).input, null, 'the input is still unknown')
      t.match(updateCounts(wrong, { input_tokens: 5, output_tokens: 7 }), { input: 5 })
    }
  }
  const details = { output_tokens_details: { thinking_tokens: -1 } }
  t.match(updateCounts(begun, details), { input: 5, thinking: null })
  for (const usage of [null, [], 7, 'x', undefined]) t.equal(updateCounts(begun, usage), begun)
})

t.test('writes that are told to be for five minutes are not for an hour, also if the others are not told', async t => {
  const before = { ...noCounts, keepsAnHour: true }
  const written = { input_tokens: 1, cache_creation_input_tokens: 100 }
  const forMinutes = updateCounts(before, { ...written, cache_creation: { ephemeral_5m_input_tokens: 100 } })
  for (const counts of [forMinutes, updateCounts(forMinutes, written)]) {
    t.match(counts, { cacheWrite: 100, cacheWrite1h: 0 })
  }
  t.match(updateCounts(before, written), { cacheWrite: 100, cacheWrite1h: 100 })
})
