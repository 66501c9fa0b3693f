import type Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { reply, type Said } from '../../servers/anthropic.ts'
import { reset } from '../../servers/upstream.ts'
import { rejection } from '../../helpers/thrown.ts'
import { ask, priced, startClaudePair } from '../messages/clients.ts'

// What Claude counts is charged to the nano-dollar: tokens in nano-USD each, searches at a cent.

const nano = { input: 3000, output: 15_000, read: 300, write: 3750, write1h: 6000, search: 10_000_000 }
const shop = await startClaudePair(t, { price: { ...priced, searchNano: nano.search, maxSearches: 3 } })
const { client, server, gateway: { app, url, headers } } = shop

const hours = { cache_control: { type: 'ephemeral' as const, ttl: '1h' as const } }
// Longer than what the cases count, so that it is held.
const system = [{ type: 'text' as const, text: 'Be kind. '.repeat(1000), ...hours }]
const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const, max_uses: 3 }]
const base = { model: 'chat', max_tokens: 1000, messages: [{ role: 'user' as const, content: 'Hi' }], system, tools }

interface Entry { kind: string, amount: number, estimated: number, usage: Record<string, number> }

let seen = 0

/** The entries since the last call, but for credits. */
async function booked (): Promise<Entry[]> {
  await app.ledger.flush()
  const rows = await app.store.all<Omit<Entry, 'usage'> & { usage: string }>(
    "select kind, amount, estimated, usage from entry where kind in ('usage', 'suspense') order by seq")
  const fresh = rows.slice(seen)
  seen = rows.length
  return fresh.map(({ kind, amount, estimated, usage }) => {
    return { kind, amount: Number(amount), estimated: Number(estimated), usage: JSON.parse(usage) }
  })
}

interface Case {
  name: string
  usage: Partial<Anthropic.Usage>
  said?: Said[]
  chargeNano: number
  counts: Record<string, number>
}

const written = (fiveMinutes: number, hour: number): Partial<Anthropic.Usage> => ({
  cache_creation_input_tokens: fiveMinutes + hour,
  cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: hour }
})
const searched = (count: number): Partial<Anthropic.Usage> =>
  ({ server_tool_use: { web_search_requests: count, web_fetch_requests: 0 } })
const plain = { input_tokens: 101, output_tokens: 17 }
const plainNano = 101 * nano.input + 17 * nano.output

const cases: readonly Case[] = [
  { name: 'no cache', usage: plain, chargeNano: plainNano, counts: { prompt: 101, completion: 17 } },
  {
    name: 'writes for five minutes',
    usage: { ...plain, ...written(1003, 0) },
    chargeNano: plainNano + 1003 * nano.write,
    counts: { prompt: 1104, cacheWrite: 1003 }
  },
  {
    name: 'writes for an hour',
    usage: { ...plain, ...written(0, 1003) },
    chargeNano: plainNano + 1003 * nano.write1h,
    counts: { prompt: 1104, cacheWrite: 1003, cacheWrite1h: 1003 }
  },
  {
    name: 'reads',
    usage: { ...plain, cache_read_input_tokens: 2007 },
    chargeNano: plainNano + 2007 * nano.read,
    counts: { prompt: 2108, cachedRead: 2007 }
  },
  {
    name: 'searches that are counted',
    usage: { ...plain, ...searched(2) },
    said: [{ found: 'One' }, { found: 'Two' }, 'So it is.'],
    chargeNano: plainNano + 2 * nano.search,
    counts: { prompt: 101, searches: 2 }
  },
  {
    name: 'searches that are not counted, one of them in vain',
    usage: plain,
    said: [{ found: 'One' }, { found: '' }, { found: 'Two' }, 'So it is.'],
    chargeNano: plainNano + 2 * nano.search,
    counts: { prompt: 101, searches: 2 }
  },
  {
    name: 'all of it',
    usage: { ...plain, ...written(11, 13), cache_read_input_tokens: 19, ...searched(1) },
    chargeNano: plainNano + 11 * nano.write + 13 * nano.write1h + 19 * nano.read + nano.search,
    counts: { prompt: 144, cachedRead: 19, cacheWrite: 24, cacheWrite1h: 13, searches: 1 }
  }
]

for (const isStream of [false, true]) {
  for (const { name, usage, said, chargeNano, counts } of cases) {
    t.test(`${name}, ${isStream ? 'streamed' : 'whole'}`, async t => {
      server.script(reply({ usage, ...(said === undefined ? {} : { said }) }))
      const message = await ask(client, base, isStream)
      t.match(message.usage, usage, 'the client sees what Claude has counted')
      t.match(await booked(), [{ kind: 'usage', amount: chargeNano, estimated: 0, usage: counts }])
    })
  }
}

const fiveMinutes = { cache_control: { type: 'ephemeral' as const } }
const mixed = { ...base, messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi', ...fiveMinutes }] }] }

// The last event has a total of writes, without their lifetimes. What is added comes after the last mark, and
// marks of an hour stand before those of five minutes.
const later = [
  { name: 'only marks of an hour', params: base, short: 0, long: 50 },
  { name: 'marks of both', params: mixed, short: 40, long: 10 }
]
for (const { name, params, short, long } of later) {
  t.test(`writes that are told after the start are charged for the lifetime of the last mark: ${name}`, async t => {
    server.script(reply({ usage: { ...plain, ...written(0, 10) } }, {
      events: events => events.map(event => event.type === 'message_delta'
        ? { ...event, usage: { ...event.usage, cache_creation_input_tokens: 50 } }
        : event)
    }))
    await ask(client, params, true)
    t.match(await booked(), [{
      kind: 'usage',
      amount: plainNano + short * nano.write + long * nano.write1h,
      estimated: 0,
      usage: { cacheWrite: 50, cacheWrite1h: long }
    }])
  })
}

t.test('so are those of a chat', async t => {
  const events: Parameters<typeof reply>[1] = {
    events: events => events.map(event => event.type === 'message_delta'
      ? { ...event, usage: { ...event.usage, cache_creation_input_tokens: 50 } }
      : event)
  }
  for (const stream of [true, false]) {
    const early = { cache_creation_input_tokens: stream ? 0 : 50, cache_creation: null }
    server.script(reply({ usage: { ...plain, ...early } }, events))
    const messages = [{ role: 'system', content: system }, { role: 'user', content: 'Hi' }]
    const body = JSON.stringify({ model: 'chat', stream, max_tokens: 1000, messages })
    const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })
    t.equal(response.status, 200, await response.text())
    t.match(await booked(), [{ kind: 'usage', amount: plainNano + 50 * nano.write1h, usage: { cacheWrite1h: 50 } }])
  }
})

t.test('writes without lifetimes are charged for an hour if that is what all marks say', async t => {
  for (const isStream of [false, true]) {
    server.script(reply({ usage: { ...plain, cache_creation_input_tokens: 50, cache_creation: null } }))
    await ask(client, base, isStream)
    t.match(await booked(), [{ kind: 'usage', amount: plainNano + 50 * nano.write1h, estimated: 0 }])
  }
})

t.test('a search is charged though the stream breaks off before it is counted', async t => {
  server.script(reply({ said: [{ found: 'One' }, 'So it is, and so it will be.'], usage: { ...plain, ...written(0, 50) } }, {
    events: events => events.slice(0, -2), end: reset
  }))
  await rejection(ask(client, base, true))
  const [entry] = await booked()
  t.match(entry, { kind: 'usage', estimated: 1, usage: { searches: 1 } })
  t.ok((entry?.amount ?? 0) >= nano.search + 101 * nano.input + 50 * nano.write1h, String(entry?.amount))
})

t.test('a budget of thoughts above the limit is held and charged: interleaved thinking may use it all', async t => {
  const versions = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'interleaved-thinking-2025-05-14' }
  const thinking = { type: 'enabled' as const, budget_tokens: 30_000 }
  for (const isStream of [false, true]) {
    server.script(reply({ usage: { ...plain, output_tokens: 30_010 } }))
    const params = { ...base, max_tokens: 2000, thinking }
    const response = await fetch(`${url}/messages`, {
      method: 'POST',
      headers: { ...headers, ...versions },
      body: JSON.stringify({ ...params, stream: isStream })
    })
    t.equal(response.status, 200, await response.text())
    t.match(server.requests.at(-1)?.body, { max_tokens: 2000, thinking }, 'as it came')
    const entries = await booked()
    t.match(entries, [{ kind: 'usage', amount: 101 * nano.input + 30_010 * nano.output }])
    t.equal(entries.length, 1, 'nothing is in suspense')
  }
})

t.test('searches beyond what is held are in suspense', async t => {
  server.script(reply({ usage: { ...plain, ...searched(1000) } }))
  await ask(client, base, false)
  const [usage, suspense] = await booked()
  t.match([usage, suspense], [{ kind: 'usage' }, { kind: 'suspense' }])
  t.equal((usage?.amount ?? 0) + (suspense?.amount ?? 0), plainNano + 1000 * nano.search)
})
