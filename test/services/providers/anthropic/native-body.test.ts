import t from 'tap'
import { createReport } from '../../../../services/providers/report.ts'
import type { MessagesCall } from '../../../../services/providers/provider.ts'
import { countedBody, nativeBody, safeId } from '../../../../services/providers/anthropic/native-body.ts'
import { sealMark } from '../../../../services/providers/anthropic/thinking-signature.ts'
import { JsonText } from '../../../../services/shared/json.ts'

const usual = { model: 'public', max_tokens: 5000, messages: [{ role: 'user', content: 'Hi' }] }

function callOf (body: object, more: Partial<MessagesCall> = {}): MessagesCall {
  const request = { model: 'public', messages: [{ role: 'user' as const, content: 'Hi' }], max_tokens: 5000 }
  const held = { tokens: 5000, estimate: async () => createReport().usage ?? { prompt: 0, completion: 0 } }
  return {
    body: request,
    rawBody: JsonText.from(request),
    original: JsonText.from(body),
    model: 'claude',
    outputLimit: null,
    held,
    requestId: 'r',
    signal: new AbortController().signal,
    versionHeaders: {},
    maxSearches: 3,
    ...more
  }
}

function sent (body: object, more?: Partial<MessagesCall>) {
  return JSON.parse(Buffer.from(nativeBody(callOf(body, more), { model: 'claude' })).toString())
}

t.test('a body goes as it came, but for the model and fields of the gateway', async t => {
  t.same(sent({ ...usual, routing: {}, fallbacks: ['b'], top_k: 5 }), { ...usual, model: 'claude', top_k: 5 })
  t.same(sent({ ...usual, model: 'claude' }), { ...usual, model: 'claude' })
  const counted = Buffer.from(countedBody(JsonText.from({ ...usual, fallbacks: [] }), { model: 'claude' })).toString()
  t.same(JSON.parse(counted), { ...usual, model: 'claude' })
})

t.test('no more output is asked for than is held, and no more thinking than fits', async t => {
  t.equal(sent(usual, { outputLimit: 3000 }).max_tokens, 3000)
  t.equal(sent(usual, { maxOutput: 2000 }).max_tokens, 2000)
  const thinking = { type: 'enabled', budget_tokens: 4000 }
  const less = { ...thinking, budget_tokens: 2999 }
  t.same(sent({ ...usual, thinking }, { outputLimit: 3000 }).thinking, less)
  t.same(sent({ ...usual, thinking }, { outputLimit: 4500 }).thinking, thinking)
  const adaptive = { type: 'adaptive' }
  t.same(sent({ ...usual, thinking: adaptive }, { outputLimit: 900 }).thinking, adaptive)
  t.notOk('thinking' in sent({ ...usual, thinking }, { outputLimit: 1000 }))
})

t.test('a provider searches at most as often as is held', async t => {
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const own = { name: 'own', input_schema: { type: 'object' } }
  t.same(sent({ ...usual, tools: [search, own] }).tools, [{ ...search, max_uses: 3 }, own])
  t.same(sent({ ...usual, tools: [{ ...search, max_uses: 9 }] }).tools, [{ ...search, max_uses: 3 }])
  const few = [{ ...search, max_uses: 2 }, own]
  t.same(sent({ ...usual, tools: few }).tools, few)
  t.same(sent({ ...usual, tools: 'none' }).tools, 'none')
})

t.test('thoughts of other models are left out, and ids of tool calls made safe', async t => {
  const ours = { type: 'thinking', thinking: 'a', signature: 'Ab==' }
  const content = [
    ours,
    { type: 'thinking', thinking: 'b', signature: `${sealMark}x` },
    { type: 'thinking', thinking: 'c' },
    { type: 'tool_use', id: 'call:1', name: 'f', input: {} },
    { type: 'tool_use', id: 'call_2', name: 'f', input: {} },
    'text'
  ]
  const messages = [
    { role: 'assistant', content }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call:1' }] }, 'odd'
  ]
  const [first, second, third] = sent({ ...usual, messages }).messages
  t.same(first.content, [ours, { ...content[3] as object, id: 'call_1' }, content[4], 'text'])
  t.equal(second.content[0].tool_use_id, 'call_1')
  t.equal(third, 'odd')
  t.equal(safeId(''), '_')
})
