import t from 'tap'
import { cachesForAnHour } from '../../../../services/providers/anthropic/cache-marks.ts'

const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const short = { cache_control: { type: 'ephemeral' } }
const text = { type: 'text', text: 'Hi' }
const inMessage = (...content: object[]) => ({ messages: [{ role: 'user', content }] })

t.test('a mark is found wherever the API takes one', async t => {
  const places = {
    body: (mark: object) => mark,
    tools: (mark: object) => ({ tools: [{ name: 'a', ...mark }] }),
    system: (mark: object) => ({ system: [{ ...text, ...mark }] }),
    messages: (mark: object) => inMessage(text, { ...text, ...mark }),
    'results of tools': (mark: object) => inMessage({ type: 'tool_result', content: [{ ...text, ...mark }] }),
    documents: (mark: object) => inMessage({ type: 'document', source: { type: 'content', content: [{ ...text, ...mark }] } })
  }
  for (const [name, at] of Object.entries(places)) {
    t.equal(cachesForAnHour({ model: 'm', ...at(hour) }), true, name)
    t.equal(cachesForAnHour({ ...hour, model: 'm', ...at(short) }), false, name)
  }
})

t.test('a body without a mark, or that is no object, asks for no hour', async t => {
  for (const body of [{}, inMessage(text), { system: 'Hi', messages: 'x' }, { cache_control: null }, null, [hour], 'x']) {
    t.equal(cachesForAnHour(body), false, JSON.stringify(body))
  }
})
