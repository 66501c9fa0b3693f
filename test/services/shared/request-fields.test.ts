import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import {
  effectiveLimit, extraFields, foldName, lengthRole, misspelledField, outputLimitOf, promptsOf, withMember
} from '../../../services/shared/request-fields.ts'

const chat = (fields: object): ChatCompletionRequest =>
  ({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...fields })

t.test('the limit is the least of all that the client sends, under any name and in any container', async t => {
  const cases: [object, number | null][] = [
    [{}, null],
    [{ max_tokens: null, max_completion_tokens: null }, null],
    [{ max_tokens: 10_000, max_completion_tokens: 1 }, 1],
    [{ max_tokens: 1, max_completion_tokens: 10_000 }, 1],
    [{ max_tokens: 5, n_predict: 9000 }, 5],
    [{ max_tokens: 9000, n_predict: 5 }, 5],
    [{ maxTokens: 7 }, 7],
    [{ MAX_NEW_TOKENS: 7, 'max-output-tokens': 8 }, 7],
    [{ options: { num_predict: 3 }, max_tokens: 4 }, 3],
    [{ extra_body: { google: { max_output_tokens: 2 } } }, 2],
    [{ nvext: { max_thinking_tokens: 2 }, max_tokens: 4 }, 4],
    [{ reasoning: { max_tokens: 2 }, max_tokens: 4 }, 4],
    [{ min_tokens: 2 }, null],
    [{ metadata: { max_tokens: '2' } }, null]
  ]
  for (const [fields, limit] of cases) t.equal(outputLimitOf(chat(fields)), limit, JSON.stringify(fields))
  t.equal(outputLimitOf({ model: 'm', prompt: 'Hi', max_tokens: 0 }), 0)
  t.equal(outputLimitOf({ model: 'm', prompt: 'Hi', ...{ max_completion_tokens: 4 } }), 4, 'llama.cpp reads it too')
})

t.test('the limit of the balance and that of the client: the lower one is sent', async t => {
  t.equal(effectiveLimit({ body: chat({}), outputLimit: null }), null)
  t.equal(effectiveLimit({ body: chat({}), outputLimit: 9 }), 9)
  t.equal(effectiveLimit({ body: chat({ max_tokens: 5 }), outputLimit: 9 }), 5)
  t.equal(effectiveLimit({ body: chat({ max_tokens: 50 }), outputLimit: 9 }), 9)
})

t.test('budgets of thoughts and minimums are told apart from limits', async t => {
  const roles = (fields: object) => extraFields(fields).map(field => [field.path.join('.'), lengthRole(field)])
  t.same(roles({ reasoning: { max_tokens: 1, effort: 'low' } }),
    [['reasoning', null], ['reasoning.max_tokens', 'budget'], ['reasoning.effort', null]])
  t.same(roles({ thinking: { budget_tokens: 1 } }).at(-1), ['thinking.budget_tokens', 'budget'])
  t.same(roles({ thinking_budget: 1, min_tokens: 1, top_k: 1 }),
    [['thinking_budget', 'budget'], ['min_tokens', 'minimum'], ['top_k', null]])
})

t.test('names are compared as a server in Go compares them', async t => {
  t.equal(foldName('Max_Tokens'), 'maxtokens')
  t.equal(foldName('max_to\u212aen\u017f'), 'maxtokens')
  const [field] = extraFields({ meſsageſ: [] })
  t.equal(field && misspelledField(field), 'messages')
  const [camel] = extraFields({ topP: 1 })
  t.equal(camel && misspelledField(camel), null, 'no server reads it as top_p for its case')
})

t.test('a nested member is replaced or left out, and the rest stays', async t => {
  const options = { num_predict: 5, num_ctx: 8, inner: { a: 1, b: 2 } }
  t.same(withMember(options, ['num_predict'], undefined), { num_ctx: 8, inner: { a: 1, b: 2 } })
  t.same(withMember(options, ['inner', 'a'], 9).inner, { a: 9, b: 2 })
  t.equal(options.num_predict, 5)
})

t.test('an empty list of prompts counts as one, so that its answer has a price', async t => {
  const counts = [[], ['a', 'b'], [1, 2], [[1], [2]], 'a', null].map(prompt => promptsOf({ model: 'm', prompt }))
  t.same(counts, [1, 2, 1, 2, 1, 1])
})
