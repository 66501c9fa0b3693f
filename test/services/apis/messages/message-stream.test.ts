import fc from 'fast-check'
import t from 'tap'
import type { MessageEvent } from '../../../../schemas/anthropic/messages.ts'
import type { ChatCompletionChunk } from '../../../../schemas/openai/chat-completions.ts'
import { MessageStream } from '../../../../services/apis/messages/message-stream.ts'
import { toMessage } from '../../../../services/apis/messages/to-message.ts'
import { unsealThinking } from '../../../../services/apis/messages/sealed-thinking.ts'
import { complaintAboutEvents } from '../../../helpers/message-grammar.ts'

const asked = { stops: ['END'], showsThoughts: true }

function chunk (delta: object, more: object = {}): ChatCompletionChunk {
  const choice = { index: 0, delta, finish_reason: null, ...more }
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] }
}

const usage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 20, cache_write_1h_tokens: 5 },
  completion_tokens_details: { reasoning_tokens: 7 }
}

function eventsOf (chunks: ChatCompletionChunk[], reason: string | null = 'stop', more: object = {}): MessageEvent[] {
  const stream = new MessageStream({ ...asked, inputTokens: 42, ...more })
  const last = { ...chunk({}), choices: [], usage }
  const all = [...chunks, ...reason === null ? [] : [chunk({}, { finish_reason: reason })], last]
  return [...all.flatMap(one => [...stream.take(one)]), ...stream.end()]
}

const call = (index: number, text: string, more: object = {}) =>
  ({ tool_calls: [{ index, function: { arguments: text }, ...more }] })
const begin = (index: number, text = '', more: object = {}) =>
  ({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: `tool_${index}`, arguments: text }, ...more }] })

/** What the blocks have in the end, as a client puts them together. */
function blocksOf (events: readonly MessageEvent[]): Record<string, unknown>[] {
  const blocks: Record<string, unknown>[] = []
  for (const event of events) {
    if (event.type === 'content_block_start') blocks.push({ ...event.content_block, json: '' })
    if (event.type !== 'content_block_delta') continue
    const block = blocks[event.index] ?? {}
    const { delta } = event
    if (delta.type === 'text_delta') block.text = `${block.text}${delta.text}`
    if (delta.type === 'thinking_delta') block.thinking = `${block.thinking}${delta.thinking}`
    if (delta.type === 'input_json_delta') block.json = `${block.json}${delta.partial_json}`
    // As the SDK does: a signature comes whole.
    if (delta.type === 'signature_delta') block.signature = delta.signature
  }
  return blocks
}

t.test('thoughts, text and tool calls are blocks, one after another', async t => {
  const events = eventsOf([
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning_content: 'Hm' }), chunk({ reasoning_content: '.' }),
    chunk({ content: 'I ' }), chunk({ content: 'look.' }),
    chunk(begin(0)), chunk(call(0, '{"a"')), chunk(call(0, ':1}')), chunk(begin(1)), chunk(call(1, '{}'))
  ], 'tool_calls')
  t.equal(complaintAboutEvents(events), null)
  t.match(blocksOf(events), [
    { type: 'thinking', thinking: 'Hm.', signature: /^tollgate\./ },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 'call_0', name: 'tool_0', json: '{"a":1}' },
    { type: 'tool_use', id: 'call_1', name: 'tool_1', json: '{}' }
  ])
  t.match(events.at(0), { message: { id: 'msg_1', model: 'm', content: [], stop_reason: null, usage: { input_tokens: 42 } } })
  t.match(events.at(-2), {
    delta: { stop_reason: 'tool_use', stop_sequence: null, stop_details: null },
    usage: {
      input_tokens: 50,
      cache_read_input_tokens: 30,
      cache_creation_input_tokens: 20,
      cache_creation: { ephemeral_5m_input_tokens: 15, ephemeral_1h_input_tokens: 5 },
      output_tokens: 20,
      output_tokens_details: { thinking_tokens: 7 }
    }
  })
})

t.test('tool calls that come side by side do not mix', async t => {
  const events = eventsOf([
    chunk(begin(0, '{"a')), chunk(begin(1, '{"b')), chunk(call(0, '":1')), chunk(call(1, '":2}')), chunk(call(0, '}')), chunk({ content: '' })
  ], 'tool_calls')
  t.equal(complaintAboutEvents(events), null)
  t.match(blocksOf(events), [{ json: '{"a":1}' }, { json: '{"b":2}' }])
})

t.test('reasons to stop', async t => {
  const ending = (chunks: ChatCompletionChunk[], reason: string | null) => {
    return Object(eventsOf(chunks, reason).at(-2)).delta
  }
  t.match(ending([chunk({ content: 'a' })], 'stop'), { stop_reason: 'end_turn', stop_sequence: null })
  t.match(ending([chunk({ content: 'a' })], 'length'), { stop_reason: 'max_tokens' })
  t.match(ending([chunk({ content: 'a' })], 'content_filter'), { stop_reason: 'refusal', stop_details: { type: 'refusal', explanation: null } })
  t.match(ending([chunk({ refusal: 'No.' })], 'stop'), { stop_reason: 'refusal', stop_details: { explanation: 'No.' } })
  for (const name of ['stop_reason', 'matched_stop']) {
    t.match(ending([chunk({ content: 'a' }), chunk({}, { finish_reason: 'stop', [name]: 'END' })], null),
      { stop_reason: 'stop_sequence', stop_sequence: 'END' }, name)
    // A token of the model, which the client did not name.
    t.match(ending([chunk({}, { finish_reason: 'stop', [name]: '<|im_end|>' })], null), { stop_reason: 'end_turn' })
  }
})

t.test('a signature has what the provider wants back; Claude\'s own passes as it is', async t => {
  const extra = { google: { thought_signature: 'AbC=' } }
  const gemini = eventsOf([
    chunk({ reasoning_content: 'Hm.' }), chunk({ content: 'So' }), chunk(begin(0, '{}', { extra_content: extra })), chunk(begin(1, '{}'))
  ], 'tool_calls')
  t.equal(complaintAboutEvents(gemini), null)
  const [first, text, second, ...calls] = blocksOf(gemini)
  t.match([first, text, second], [{ thinking: 'Hm.' }, { text: 'So' }, { type: 'thinking', thinking: '' }])
  t.same(unsealThinking(String(second?.signature)), { extras: { call_0: extra } })
  t.match(calls, [{ id: 'call_0' }, { id: 'call_1' }])

  const detail = (more: object) => ({ reasoning_details: [{ type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0, ...more }] })
  const claude = eventsOf([
    chunk({ reasoning_content: 'Let me ', ...detail({ text: 'Let me ' }) }), chunk({ reasoning_content: 'see.', ...detail({ text: 'see.' }) }),
    chunk(detail({ signature: 'EqoSigned' })), chunk({ content: 'Yes' })
  ])
  t.match(blocksOf(claude), [{ type: 'thinking', thinking: 'Let me see.', signature: 'EqoSigned' }, { text: 'Yes' }])
  const hidden = { type: 'reasoning.encrypted', format: 'anthropic-claude-v1', index: 0, data: 'xyz' }
  const redacted = eventsOf([chunk({ reasoning_details: [hidden] }), chunk({ content: 'Yes' })])
  t.match(blocksOf(redacted), [{ type: 'redacted_thinking', data: 'xyz' }, { text: 'Yes' }])
  t.equal(complaintAboutEvents(redacted), null)

  const openai = { type: 'reasoning.encrypted', format: 'openai-responses-v1', data: 'gAAA', id: 'rs_1', index: 0 }
  const sealed = eventsOf([chunk({ reasoning_details: [openai] }), chunk({ content: 'Yes' })])
  t.same(unsealThinking(String(blocksOf(sealed)[0]?.signature)), { details: [openai] })
})

t.test('thoughts that are to be omitted stand in the signature alone', async t => {
  const events = eventsOf([chunk({ reasoning_content: 'Secret.' }), chunk({ content: 'Yes' })], 'stop', { showsThoughts: false })
  t.equal(complaintAboutEvents(events), null)
  t.notMatch(JSON.stringify(events), 'Secret')
  t.same(unsealThinking(String(blocksOf(events)[0]?.signature)), { text: 'Secret.' })
})

t.test('whatever comes in whatever order, the events keep the rules and nothing is lost', async t => {
  const word = fc.stringMatching(/^[a-z]{1,4}$/)
  const delta = fc.oneof(
    word.map(content => ({ content })),
    word.map(text => ({ reasoning_content: text })),
    fc.constant({}),
    fc.tuple(fc.nat(2), word).map(([index, text]) => ({ call: index, text }))
  )
  fc.assert(fc.property(fc.array(delta, { maxLength: 30 }), deltas => {
    const args = ['', '', '']
    const begun = new Set<number>()
    let [text, thinking] = ['', '']
    const chunks = deltas.map(one => {
      if ('content' in one) text += one.content
      if ('reasoning_content' in one) thinking += one.reasoning_content
      if (!('call' in one)) return chunk(one)
      const piece = `{"${one.text}":`
      args[one.call] += piece
      if (begun.has(one.call)) return chunk(call(one.call, piece))
      begun.add(one.call)
      return chunk(begin(one.call, piece))
    })
    const events = eventsOf(chunks, begun.size > 0 ? 'tool_calls' : 'stop')
    const complaint = complaintAboutEvents(events)
    if (complaint !== null) throw new Error(complaint)
    const blocks = blocksOf(events)
    const said = (type: string, name: string) => blocks.filter(block => block.type === type).map(block => block[name]).join('')
    const calls = blocks.filter(({ type }) => type === 'tool_use')
    return said('text', 'text') === text && said('thinking', 'thinking') === thinking && calls.length === begun.size &&
      calls.every(({ id, json }) => json === args[Number(String(id).slice('call_'.length))])
  }), { numRuns: 500 })
  t.pass()
})

t.test('a whole answer has the same blocks as a stream', async t => {
  const extra = { google: { thought_signature: 'AbC=' } }
  const message = toMessage({
    id: 'chatcmpl-7',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{
      index: 0,
      finish_reason: 'tool_calls',
      message: Object.assign({
        role: 'assistant' as const,
        content: 'So',
        tool_calls: [
          { id: 'call_0', type: 'function' as const, function: { name: 'f', arguments: '{"a":1}' }, extra_content: extra },
          { id: 'call_1', type: 'function' as const, function: { name: 'g', arguments: 'not JSON' } },
          { id: 'call_2', type: 'function' as const, function: { name: 'h', arguments: '' } }
        ]
      }, { reasoning_content: 'Hm.' })
    }],
    usage
  }, asked)
  t.match(message, {
    id: 'msg_7',
    type: 'message',
    role: 'assistant',
    stop_reason: 'tool_use',
    content: [
      { type: 'thinking', thinking: 'Hm.' }, { type: 'text', text: 'So' },
      { type: 'tool_use', id: 'call_0', name: 'f', input: { a: 1 } },
      { type: 'tool_use', input: { arguments: 'not JSON' } }, { type: 'tool_use', input: {} }
    ],
    usage: { input_tokens: 50, cache_read_input_tokens: 30, output_tokens: 20 }
  })
  const [thought] = message.content
  t.same(thought?.type === 'thinking' && unsealThinking(thought.signature), { extras: { call_0: extra } })
})
