import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { checkChatRequest, checkCompletionRequest } from '../../../services/chat/request-checks.ts'
import { thrown } from '../../helpers/thrown.ts'

const chat = (fields: object): ChatCompletionRequest =>
  ({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...fields })

t.test('what no server should read is refused with the name of the field', async t => {
  const cases: [object, string][] = [
    [{ n_predict: -1 }, 'n_predict'],
    [{ n_predict: 0 }, 'n_predict'],
    [{ n_predict: 1.5 }, 'n_predict'],
    [{ n_predict: '9000' }, 'n_predict'],
    [{ options: { num_predict: -2 } }, 'options.num_predict'],
    [{ maxTokens: [1] }, 'maxTokens'],
    [{ Max_Tokens: 5 }, 'Max_Tokens'],
    [{ MODEL: 'dear' }, 'MODEL'],
    [{ meſsages: [] }, 'me\u017fsages'],
    [{ N: 128 }, 'N'],
    [{ max_tokens: 5, min_tokens: 6 }, 'min_tokens'],
    [{ min_completion_tokens: -1 }, 'min_completion_tokens'],
    [{ max_tokens: 5, reasoning: { max_tokens: 6 } }, 'reasoning.max_tokens'],
    [{ max_completion_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 2048 } }, 'thinking.budget_tokens'],
    [{ max_tokens: 5, extra_body: { google: { thinking_config: { thinking_budget: 6 } } } },
      'extra_body.google.thinking_config.thinking_budget']
  ]
  for (const [fields, param] of cases) {
    const error = thrown(() => checkChatRequest(chat(fields)))
    t.match(error, { status: 400, param, code: 'invalid_value' }, JSON.stringify(fields))
  }
  const legacy = { model: 'm', prompt: 'Hi', ...{ max_completion_tokens: -1 } }
  t.match(thrown(() => checkCompletionRequest(legacy)), { status: 400, param: 'max_completion_tokens' })
})

t.test('what is a limit, a minimum below it or nothing passes', async t => {
  for (const fields of [
    {}, { n_predict: 5 }, { n_predict: null }, { max_tokens: 5, min_tokens: 5 }, { min_tokens: 7 },
    { top_k: 5, topP: 1 },
    { thinking: { type: 'enabled', budget_tokens: 2048 } }, { max_tokens: 5, thinking_budget: -1 },
    { options: { num_ctx: 8192 } }, { reasoning: { effort: 'high' } }, { metadata: { Model: 'x' } }
  ]) t.doesNotThrow(() => checkChatRequest(chat(fields)), JSON.stringify(fields))
})
