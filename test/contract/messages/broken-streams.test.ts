import type { MessageStreamEvent } from '@anthropic-ai/sdk/resources/messages'
import t from 'tap'
import { reply } from '../../servers/anthropic.ts'
import { halfClose, reset } from '../../servers/upstream.ts'
import { startClaudePair } from './clients.ts'

// A native stream that its provider does not end properly.

const { gateway, server, client } = await startClaudePair(t)
const base = { model: 'chat', max_tokens: 2000, messages: [{ role: 'user' as const, content: 'Hi' }] }
const said = { said: ['one two three four'], usage: { input_tokens: 1000, output_tokens: 40 } }

interface Ended { names: string[], text: string, id: string | null, status: number }

async function ask (): Promise<Ended> {
  const response = await fetch(`${gateway.url}/messages`, {
    method: 'POST',
    headers: { ...gateway.headers, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ ...base, stream: true })
  })
  const text = await response.text()
  const names = [...text.matchAll(/^event: (.*)$/gm)].map(([, name = '']) => name)
  return { names, text, id: response.headers.get('x-request-id'), status: response.status }
}

async function bookedFor (id: string | null) {
  await gateway.app.ledger.flush()
  return await gateway.app.store.get<{ amount: number, estimated: number }>(
    "select amount, estimated from entry where ref = $1 and kind = 'usage'", [id])
}

t.test('a stream that ends before its message is an error, and what was delivered is charged', async t => {
  for (const [how, end] of Object.entries({ halfClose, reset })) {
    for (const kept of [1, 3, 5, 7, 8]) {
      server.script(reply(said, { events: list => list.slice(0, kept), end }))
      const { names, text, id, status } = await ask()
      if (kept === 1) {
        t.equal(status, 502, `${how}: nothing was written yet`)
        continue
      }
      t.match([names.at(-1), status], ['error', 200], `${how} after ${kept} events`)
      const error: unknown = JSON.parse(/event: error\ndata: (.*)/.exec(text)?.[1] ?? '')
      t.match(error, { type: 'error', error: { type: 'api_error', message: String }, request_id: id })
      const booked = await bookedFor(id)
      if (kept >= 5) t.ok((booked?.amount ?? 0) > 3_000_000 && booked?.estimated, `${how} after ${kept}: ${JSON.stringify(booked)}`)
    }
  }
})

t.test('the events before an error in the same piece are delivered', async t => {
  server.script(reply(said, { wire: list => [...list.slice(0, 2), list.slice(2, 5).join('') + 'event: ping\ndata: {broken\n\n'] }))
  const { names, text } = await ask()
  t.match(text, 'two')
  t.equal(names.at(-1), 'error')
})

t.test('events without a name, or with another, get the one of their type', async t => {
  const withoutNames = (list: string[]) => list.map(event => event.replace(/^event: .*\n/, ''))
  for (const wire of [withoutNames, (list: string[]) => list.map(event => event.replace(/^event: .*\n/, 'event: message\n'))]) {
    server.script(reply(said, { wire }))
    const events: MessageStreamEvent[] = []
    const stream = client.messages.stream(base)
    stream.on('streamEvent', event => { events.push(event) })
    t.match((await stream.finalMessage()).content, [{ text: 'one two three four' }])
    t.equal(events.at(-1)?.type, 'message_stop')
  }
})

t.test('the last event may lack its empty line, and nothing follows it', async t => {
  server.script(reply(said, { wire: list => [...list.slice(0, -1), (list.at(-1) ?? '').trimEnd()] }))
  t.equal((await ask()).names.at(-1), 'message_stop')
  server.script(reply(said, { wire: list => [list.join('') + 'event: ping\ndata: {"type":"ping"}\n\n'] }))
  t.equal((await ask()).names.at(-1), 'message_stop')
})
