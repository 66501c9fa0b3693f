import t from 'tap'
import { countTokens } from '../../../services/billing/count-tokens.ts'
import { estimateUsage } from '../../../services/billing/estimate-usage.ts'

t.test('tokens are counted by a real tokenizer', async t => {
  t.equal(await countTokens(''), 0)
  t.equal(await countTokens('Hello, world!'), 4)
  t.equal(await countTokens('<|endoftext|>') > 1, true, 'a control token in a text is text')
})

t.test('a long text, or a very long word, takes no long time', async t => {
  const startedMs = performance.now()
  const tokens = await countTokens('a'.repeat(1_000_000))
  t.ok(tokens > 50_000 && tokens < 1_000_000, String(tokens))
  t.ok(performance.now() - startedMs < 2000)
})

t.test('an estimate has the prompt, the tools and what was delivered', async t => {
  const messages = [{ role: 'user' as const, content: 'Hello, world!' }]
  const plain = await estimateUsage({ model: 'm', messages }, 'Hello, world!')
  t.strictSame(plain, { prompt: 8, completion: 4 })
  const tools = [{ type: 'function' as const, function: { name: 'get_weather' } }]
  t.ok((await estimateUsage({ model: 'm', messages, tools }, '')).prompt > 8)
  t.strictSame(await estimateUsage({ model: 'm', prompt: [[1, 2], [3]] }, ''), { prompt: 3, completion: 0 })
})
