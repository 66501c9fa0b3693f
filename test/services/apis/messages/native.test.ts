import t from 'tap'
import type { CreateMessageRequest } from '../../../../schemas/anthropic/messages.ts'
import type { Price } from '../../../../services/config/catalogue/types.ts'
import { createReport } from '../../../../services/providers/report.ts'
import type { ChatProvider, MessagesCall } from '../../../../services/providers/provider.ts'
import type { Candidate, Plan } from '../../../../services/requests/candidates.ts'
import { JsonText } from '../../../../services/shared/json.ts'
import { nativeMessages, versionHeadersOf } from '../../../../services/apis/messages/native.ts'
import { thrown } from '../../../helpers/thrown.ts'
import { candidate } from '../../requests/helper.ts'

const usual: CreateMessageRequest = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }
const searching = {
  ...usual, tools: [{ type: 'web_search_20250305', name: 'web_search' }], tool_choice: { type: 'any' as const }
}
const clearing = { ...usual, context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }
const searchPrice: Price = {
  inputPico: 1,
  outputPico: 1,
  cacheReadPico: null,
  cacheWritePico: null,
  imageNano: null,
  secondNano: null,
  searchNano: 5,
  maxSearches: 2
}

const native = (request: CreateMessageRequest, headers = {}) =>
  nativeMessages({ request, original: JsonText.from(request), headers })

/** A candidate that notes how it is asked, if its provider has the Messages API. */
function asked (calls: MessagesCall[] | null, more: Partial<Candidate> = {}): Candidate<ChatProvider> {
  const one = candidate({}, more.price ?? null)
  const provider: ChatProvider = {
    id: one.provider.id,
    chat: () => { throw new Error('nobody is asked for a chat here') },
    close: async () => {},
    ...calls !== null && {
      messages: async (call: MessagesCall) => {
        calls.push(call)
        return { kind: 'json', body: {}, text: null, report: createReport(), native: true }
      }
    }
  }
  return { ...one, ...more, provider }
}

function planOf (
  first: Candidate<ChatProvider>, ...others: Candidate<ChatProvider>[]
): Plan<Candidate<ChatProvider>> {
  return { model: first.model, requested: [first], fallbacks: () => others.map(other => [other]) }
}

t.test('the headers of the API are passed on, and no others', async t => {
  t.same(versionHeadersOf({ 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a,b', 'x-api-key': 'secret' }),
    { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a,b' })
  t.same(versionHeadersOf({}), {})
})

t.test('a provider without the API is asked for a chat, and any candidate will do', async t => {
  const { call: ask, narrow, extras } = native(usual)
  const signal = new AbortController().signal
  const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] }
  const call = { body: request, rawBody: JsonText.from(request), model: 'm', outputLimit: null, requestId: 'r', signal }
  await t.rejects(ask(asked(null), call), { message: 'nobody is asked for a chat here' })
  t.equal(narrow, undefined)
  t.same(extras?.(asked(null)), {})
  const calls: MessagesCall[] = []
  await ask(asked(calls), call)
  t.equal(calls[0]?.maxSearches, 0)
})

t.test('as many searches are held as the provider may make', async t => {
  const calls: MessagesCall[] = []
  const searcher = asked(calls, { price: searchPrice })
  const { call, extras } = native(searching)
  t.same(extras?.(searcher), { longCache: false, searches: true })
  const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] }
  const signal = new AbortController().signal
  await call(searcher, {
    body: request, rawBody: JsonText.from(request), model: 'm', outputLimit: null, requestId: 'r', signal
  })
  t.equal(calls[0]?.maxSearches, 2)
})

t.test('a prompt part that is cached for an hour is priced, wherever it stands', async t => {
  const control = { type: 'ephemeral' as const, ttl: '1h' as const }
  const part = { type: 'text' as const, text: 'Hi', cache_control: control }
  const longCache = (request: CreateMessageRequest) => native(request).extras?.(asked([]))?.longCache
  t.equal(longCache(usual), false)
  t.equal(longCache({ ...usual, system: [part] }), true)
  t.equal(longCache({ ...usual, messages: [{ role: 'user', content: [part] }] }), true)
  t.equal(longCache({ ...usual, cache_control: control }), true)
})

t.test('candidates that lack what is asked for are left out', async t => {
  const { narrow } = native(clearing)
  const chatter = asked(null)
  const claude = asked([])
  t.same(narrow?.(planOf(claude, chatter)).requested, [claude])
  t.same([...narrow?.(planOf(claude, chatter, asked([]))).fallbacks() ?? []].length, 1)
  t.match(thrown(() => narrow?.(planOf(chatter, claude))),
    { status: 400, param: 'context_management.edits[0]', code: 'unsupported_parameter' })
})

t.test('a policy answers with another of its models', async t => {
  const { narrow } = native({ ...clearing, model: 'auto' })
  const claude = asked([])
  const plan = narrow?.(planOf(asked(null), asked(null), claude, asked([])))
  t.same(plan?.requested, [claude])
  t.equal([...plan?.fallbacks() ?? []].length, 1)
  t.match(thrown(() => narrow?.(planOf(asked(null)))), { status: 400 })
})

t.test('searches without a price and contexts that are too long are refused', async t => {
  const unpriced = { ...searchPrice, searchNano: null }
  t.match(thrown(() => native(searching).narrow?.(planOf(asked([], { price: unpriced })))),
    { status: 400, param: 'tools[0]', code: 'parameter_not_priced' })
  const { narrow } = native(usual, { 'anthropic-beta': 'context-1m-2025-08-07' })
  const { model } = asked([])
  const short = asked([], { model: { ...model, contextWindow: 200_000 } })
  const long = asked([], { model: { ...model, contextWindow: 1_000_000 } })
  t.match(thrown(() => narrow?.(planOf(short))), { status: 400, param: 'anthropic-beta' })
  t.same(narrow?.(planOf(long)).requested, [long])
})
