import t from 'tap'
import { answer, message, reasoning } from '../../servers/responses.ts'
import { findPython } from '../../helpers/python.ts'
import { rejection } from '../../helpers/thrown.ts'
import { startPythonClient } from '../python-client.ts'
import { bodiesOf, bookedBy, lastBody, openShop } from './native-shop.ts'

const python = await findPython()
const skip = python === null ? 'not installed; the whole npm test does it' : false
const model = 'chat'
/** Longer than the usage that the provider reports, which the hold must cover. */
const input = 'word '.repeat(400)
const find = {
  type: 'function',
  name: 'find',
  strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
}

t.test('openai-python reads the answers of a provider that has the API', { skip }, async t => {
  const shop = await openShop(t)
  const { upstream, gateway } = shop
  const client = startPythonClient(python ?? '', gateway)
  t.teardown(() => client.close())

  await t.test('whole and streamed, they mean the same', async t => {
    const seen = []
    for (const stream of [false, true]) {
      upstream.script(answer({ output: [reasoning('gAAAA'), message('Good day.')] }))
      const { id, created_at: created, ...response } = await client.respond({ model, input, stream })
      t.match(id, /^resp_[0-9a-f]{48}$/)
      t.type(created, 'number')
      seen.push(response)
    }
    const [whole, streamed] = seen
    t.strictSame(streamed?.output.map(({ type }) => type), ['reasoning', 'message'])
    // The helper for streams adds what it has parsed, which is nothing.
    t.match(streamed?.output, whole?.output ?? [])
    t.strictSame(streamed?.usage, whole?.usage)
    t.equal((await bookedBy(shop)).length, 2)
  })

  await t.test('objects are parsed', async t => {
    for (const stream of [false, true]) {
      upstream.script(answer({ output: [message('{"city":"Paris"}')] }))
      const { output } = await client.parseResponse({ model, input, stream })
      t.strictSame(output[0]?.content[0]?.parsed, { city: 'Paris' })
      t.match(lastBody(shop)['text'], { format: { type: 'json_schema', strict: true } })
    }
  })

  await t.test('a call goes back with its reasoning and its result', async t => {
    for (const stream of [false, true]) {
      const call = {
        type: 'function_call', id: 'fc_up1', call_id: 'call_1', name: 'find', arguments: '{"city":"Paris"}', status: 'completed'
      }
      upstream.script(answer({ output: [reasoning('gAAAA'), call] }))
      const first = await client.respond({ model, input, tools: [find], store: false, include: ['reasoning.encrypted_content'], stream })
      t.match(first.output, [{ type: 'reasoning', encrypted_content: 'tollgate:up:gAAAA' }, { type: 'function_call', call_id: 'call_1' }])
      const result = { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' }
      upstream.script(answer({ output: [message('It is sunny.')] }))
      const items = [{ role: 'user', content: input }, ...first.output, result]
      const last = await client.respond({ model, input: items, tools: [find], store: false, stream })
      t.match(last.output, [{ type: 'message', content: [{ text: 'It is sunny.' }] }])
      t.match(lastBody(shop)['input'], [
        { role: 'user' }, { type: 'reasoning', encrypted_content: 'gAAAA' }, { type: 'function_call', arguments: '{"city":"Paris"}' }, result
      ])
    }
  })

  await t.test('what is refused raises an error that names the field', async t => {
    const before = bodiesOf(shop).length
    const files = [{ type: 'file_search', vector_store_ids: ['vs_1'] }]
    const refused = await rejection(client.respond({ model, input, tools: files, tool_choice: { type: 'file_search' } }))
    t.match(String(refused), /BadRequestError[^]*file_search/)
    t.equal(bodiesOf(shop).length, before)
  })
})
