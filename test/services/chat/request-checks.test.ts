import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../../schemas/openai/completions.ts'
import { GatewayError } from '../../../services/shared/errors.ts'
import { checkChatRequest, checkCompletionRequest } from '../../../services/chat/request-checks.ts'

/** The param a check refuses, null when it refuses none. */
function refusedBy (check: () => void): string | null {
  try {
    check()
    return null
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    t.match(error, { status: 400, type: 'invalid_request_error', code: null })
    return error.param
  }
}

t.test('chat', async t => {
  const refused = (fields: Partial<ChatCompletionRequest>): string | null => refusedBy(() =>
    checkChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...fields }))

  t.equal(refused({}), null)
  t.equal(refused({ stream_options: { include_usage: true } }), 'stream_options')
  t.equal(refused({ stream: false, stream_options: {} }), 'stream_options')
  t.equal(refused({ stream: true, stream_options: { include_usage: true } }), null)
  t.equal(refused({ stream_options: null }), null)

  t.equal(refused({ top_logprobs: 2 }), 'top_logprobs')
  const bestOf = (best: number): object => ({ best_of: best })
  t.same([refused(bestOf(20)), refused(bestOf(1))], ['best_of', null])
  t.equal(refused({ top_logprobs: 0, logprobs: false }), 'top_logprobs')
  t.equal(refused({ top_logprobs: 2, logprobs: true }), null)
  t.equal(refused({ top_logprobs: null }), null)
})

t.test('text completions', async t => {
  const refused = (fields: Partial<CompletionRequest>): string | null => refusedBy(() =>
    checkCompletionRequest({ model: 'm', prompt: 'Hello', ...fields }))

  t.equal(refused({ stream_options: {} }), 'stream_options')
  for (const field of ['messages', 'tools', 'modalities', 'web_search_options']) t.equal(refused({ [field]: 5 }), field)
  t.equal(refused({ n: 3, best_of: 2 }), 'best_of')
  t.equal(refused({ best_of: 2, stream: true }), 'best_of')
  t.equal(refused({ n: 2, best_of: 2, stream: true }), null)
  t.equal(refused({ best_of: 1, stream: true }), null)
  t.equal(refused({ best_of: 0 }), null)
  t.equal(refused({ n: null, best_of: null }), null)

  for (const prompt of [null, '', [], ['a', 'b'], [1, 2], [[1], [2]]]) t.equal(refused({ prompt }), null)
  for (const mixed of ['["a", 1]', '[1, [2]]', '[[1], "a"]']) {
    t.equal(refused({ prompt: JSON.parse(mixed) }), 'prompt', mixed)
  }
})
