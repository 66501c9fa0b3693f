import t from 'tap'
import type { ChatCompletionRequest } from '../../../../schemas/openai/chat-completions.ts'
import { countSandboxTokens } from '../../../../services/providers/sandbox/tokens.ts'
import { callOf, complete, reply, sandbox } from './helper.ts'

const question = 'How do I brew coffee at home?'

t.test('lists its models', async t => {
  t.same(await sandbox.models?.(new AbortController().signal), ['sandbox-chat', 'sandbox-image', 'sandbox-video'])
})

t.test('replies in OpenAI\'s format', async t => {
  const completion = await complete(question)
  t.match(completion, {
    id: /^chatcmpl-\w{24,}$/,
    object: 'chat.completion',
    model: 'sandbox-chat',
    system_fingerprint: 'fp_sandbox',
    choices: [{ index: 0, finish_reason: 'stop', logprobs: null }]
  })
  t.same(Object.keys(completion.choices[0]?.message ?? {}), ['role', 'content', 'refusal', 'annotations'])
  t.ok(Math.abs(completion.created - Date.now() / 1_000) < 60)
  t.not((await complete(question)).id, completion.id)
})

t.test('is deterministic, and depends on the prompt', async t => {
  t.equal(await reply(question), await reply(question))
  t.match(await reply(question), /“How do I brew coffee at home\?”.+sandbox/s)
  t.match(await reply('Explain photosynthesis'), /photosynthesis/)
  t.ok((await reply(question)).split(/[.!?] /).length > 3)
})

t.test('replies to any text', async t => {
  for (const text of ['', '   ', '...', '你好，世界', '🦊'.repeat(200), '{topic} {quote} $&', 'a'.repeat(100_000)]) {
    t.match(await reply(text), /sandbox/)
  }
  t.match(await reply('{topic} $& $1'), '“{topic} $& $1”')
})

t.test('mentions the instructions, the turn and the attachments', async t => {
  const text = await reply('', {
    messages: [
      { role: 'developer', content: [{ type: 'text', text: 'You are a pirate.' }] },
      { role: 'user', content: 'Ahoy' },
      { role: 'assistant', content: 'Ahoy!' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is in the pictures?' },
          { type: 'image_url', image_url: { url: 'https://example.com/1.png' } },
          { type: 'image_url', image_url: { url: 'https://example.com/2.png' } },
          { type: 'input_audio', input_audio: { data: '', format: 'wav' } },
          { type: 'file', file: { file_id: 'file-1' } }
        ]
      }
    ]
  })
  t.match(text, /You are a pirate/)
  t.match(text, /turn 2/)
  t.match(text, /2 images, 1 audio clip and 1 file/)
})

t.test('varies the reply by seed and temperature', async t => {
  const seeds = await Promise.all([1, 2, 3, 4, 5].map(seed => reply(question, { seed })))
  t.ok(new Set(seeds).size > 1)
  const warmths = [0, 0.5, 1, 1.5, 2]
  const temperatures = await Promise.all(warmths.map(temperature => reply(question, { temperature })))
  t.ok(new Set(temperatures).size > 1)
  t.equal(await reply(question, { user: 'someone' }), await reply(question))
})

t.test('gives n different choices', async t => {
  const { choices, usage } = await complete(question, { n: 128 })
  t.same(choices.map(({ index }) => index), Array.from({ length: 128 }, (_, index) => index))
  t.equal(new Set(choices.map(({ message }) => message.content)).size, 128)
  const tokens = choices.reduce((sum, { message }) => sum + countSandboxTokens(message.content ?? ''), 0)
  t.equal(usage?.completion_tokens, tokens)
})

t.test('stops exactly at the token limit', async t => {
  const whole = await reply(question)
  const limits: Partial<ChatCompletionRequest>[] = [
    { max_tokens: 7 }, { max_completion_tokens: 7 }, { max_tokens: 50, max_completion_tokens: 7 }
  ]
  for (const fields of limits) {
    const { choices, usage } = await complete(question, fields)
    const content = choices[0]?.message.content ?? ''
    t.equal(choices[0]?.finish_reason, 'length')
    t.equal(countSandboxTokens(content), 7)
    t.equal(usage?.completion_tokens, 7)
    t.ok(whole.startsWith(content))
  }
  const { choices } = await complete(question, { max_tokens: countSandboxTokens(whole) })
  t.match(choices[0], { finish_reason: 'stop', message: { content: whole } })
})

t.test('never exceeds its own limit', async t => {
  const { choices, usage } = await complete(`Repeat exactly: ${'word '.repeat(20_000)}`)
  t.equal(usage?.completion_tokens, 16_384)
  t.equal(choices[0]?.finish_reason, 'length')
})

t.test('cuts the reply before the first stop sequence', async t => {
  const count = 'Repeat exactly: one two three four'
  t.equal(await reply(count, { stop: ' three' }), 'one two')
  t.equal(await reply(count, { stop: ['four', ' two'] }), 'one')
  t.equal(await reply(count, { stop: ['five', ''] }), 'one two three four')
  t.equal(await reply(count, { stop: null }), 'one two three four')
  const { choices, usage } = await complete(count, { stop: ' three', max_tokens: 3 })
  t.equal(choices[0]?.finish_reason, 'stop')
  t.equal(usage?.completion_tokens, 2)
})

t.test('repeats a text exactly on request', async t => {
  t.equal(await reply('Say: "Hello, “world”!"'), 'Hello, “world”!')
  t.equal(await reply('Repeat exactly: "a"\n b  '), '"a"\n b  ')
  t.equal(await reply('Reply with exactly pong'), 'pong')
  t.equal(await reply('reply with exactly: "pong"'), 'pong')
})

t.test('gives log probabilities for every token', async t => {
  const { choices } = await complete(question, { logprobs: true, top_logprobs: 20, n: 2 })
  const [first] = choices
  const content = first?.logprobs?.content ?? []
  t.equal(content.map(({ token }) => token).join(''), first?.message.content)
  for (const { token, logprob, bytes, top_logprobs: top } of content) {
    t.same(bytes, [...Buffer.from(token)])
    t.equal(top[0]?.token, token)
    t.equal(top[0]?.logprob, logprob)
    t.equal(new Set(top.map(({ token }) => token)).size, 20)
    t.ok(top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0) <= 1)
    t.same(top.map(({ logprob }) => logprob), top.map(({ logprob }) => logprob).sort((a, b) => b - a))
  }
  const again = await complete(question, { logprobs: true, top_logprobs: 20 })
  t.same(again.choices[0]?.logprobs, first?.logprobs)
  const none = await complete(question, { logprobs: true })
  t.same(none.choices[0]?.logprobs?.content?.[0]?.top_logprobs, [])
})

t.test('counts the tokens of every part of the prompt', async t => {
  const countOf = async (fields: Partial<ChatCompletionRequest>): Promise<number> =>
    (await complete(question, fields)).usage?.prompt_tokens ?? 0
  const plain = await countOf({})
  t.equal(plain, 3 + 4 + countSandboxTokens(question))
  const user = { role: 'user' as const, content: question }
  t.equal(await countOf({ messages: [{ role: 'system', content: 'Be kind.' }, user] }), plain + 4 + 3)
  t.equal(await countOf({ messages: [{ ...user, name: 'Ada' }] }), plain + 1)
  t.ok(await countOf({ tools: [{ type: 'custom', custom: { name: 'shell' } }] }) > plain)
  const image = { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${'A'.repeat(50_000)}` } }
  const parts = { role: 'user' as const, content: [{ type: 'text' as const, text: question }, image] }
  t.equal(await countOf({ messages: [parts] }), plain + 85)
})

t.test('reports the usage in the body', async t => {
  const answer = await sandbox.chat(callOf(question))
  if (answer.kind !== 'json') throw new Error(answer.kind)
  const { usage } = answer.body
  t.equal(usage?.total_tokens, (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
  t.same(usage?.prompt_tokens_details, { cached_tokens: 0, audio_tokens: 0 })
  t.equal(usage?.completion_tokens_details?.reasoning_tokens, 0)
  const counted = { prompt: usage?.prompt_tokens, completion: usage?.completion_tokens }
  t.match(answer.report, { usage: counted, model: 'sandbox-chat', dropped: [] })
  t.equal(answer.text, null)
})
