import OpenAI from 'openai'
import t from 'tap'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { reply, startUpstream, type Script } from '../../servers/upstream.ts'

/** What each answer of the model needs, in tokens, at $15 a million. */
const needed = 600

/** A server that obeys the limit, and ends with `length` there. */
const obedient: Script = exchange => {
  const { max_tokens: limit = Infinity } = Object(exchange.request.body)
  const completion = Math.min(limit, needed)
  return reply({ usage: { prompt: 10, completion } }, {
    completion: answer => limit < needed ? { ...answer, choices: [{ ...Object(answer.choices)[0], finish_reason: 'length' }] } : answer
  })(exchange)
}

t.test('a small balance pays for whole answers, then for none', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  upstream.always(obedient)
  const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 15_000_000 }
  const gateway = await startGateway(t, {
    config: configFor(providerAt(upstream.url), { price }), env: { TOLLGATE_STARTING_CREDIT: '0.1' }
  })
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  const ask = async (more: object = {}) => await client.chat.completions.create({
    model: 'chat', messages: [{ role: 'user', content: 'Hi' }], ...more
  })
  const ends: string[] = []
  let refusal: unknown = null
  while (refusal === null && ends.length < 20) {
    await ask().then(({ choices: [choice] }) => ends.push(choice?.finish_reason ?? ''), error => { refusal = error })
  }
  t.ok(ends.length >= 8, `${ends.length} answers`)
  t.same(ends.filter(end => end !== 'stop'), [], 'none is cut')
  t.match(refusal, { status: 402, message: /may cost up to \$0\.\d+; your balance is \$0\.\d+/ })
  t.match((await ask({ max_tokens: 20 })).choices, [{ finish_reason: 'length' }], 'a client may choose to have it cut')
})
