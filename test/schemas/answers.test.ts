import Fastify from 'fastify'
import t from 'tap'
import { Billing } from '../../schemas/openai/billing.ts'
import { ErrorResponse } from '../../schemas/openai/error.ts'
import { Model, ModelList } from '../../schemas/openai/models.ts'
import { compileOpenAi } from './validators.ts'

const model = {
  id: 'openai/gpt-5',
  object: 'model',
  created: 1_790_000_000,
  owned_by: 'openai',
  kind: 'chat',
  pricing: { input: '0.5' }
}
const billing = { balance: 1.000000001, currency: 'usd', total_spent: 1e-9, available: 1, held: 1e-9, more: 2 }
const error = { message: 'No.', type: 'invalid_request_error', param: null, code: null }

t.test('small answers keep their extra fields, their fractions and their nulls', async t => {
  const app = Fastify()
  const cases = [
    { url: '/model', schema: Model, body: model, openAi: 'Model' },
    { url: '/models', schema: ModelList, body: { object: 'list', data: [model] }, openAi: 'ListModelsResponse' },
    { url: '/error', schema: ErrorResponse, body: { error }, openAi: 'ErrorResponse' },
    { url: '/billing', schema: Billing, body: billing }
  ]
  for (const { url, schema, body } of cases) {
    app.get(url, { schema: { response: { 200: schema } } }, () => body)
  }
  for (const { url, body, openAi } of cases) {
    const answer = (await app.inject({ url })).json()
    t.strictSame(answer, body, url)
    if (openAi !== undefined) t.ok(compileOpenAi(openAi)(answer), `${url} follows the specification`)
  }
})
