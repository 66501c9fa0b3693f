import t from 'tap'
import { relayNamedEvents } from '../../../services/providers/named-events.ts'
import { maxResponseBytes } from '../../../services/providers/upstream/read-response.ts'
import type { UpstreamResponse } from '../../../services/providers/upstream/response.ts'
import { encodeNamedEvent } from '../../../services/providers/upstream/sse.ts'
import { rejection } from '../../helpers/thrown.ts'

t.test('an answer that never begins is given up before it fills the memory', async t => {
  const event = encodeNamedEvent('head', { type: 'head', text: 'x'.repeat(4 * 1024 * 1024) })
  let sent = 0
  async function * endless () {
    for (; sent < 2 * maxResponseBytes; sent += event.length) yield event
  }
  const exchange = { [Symbol.asyncIterator]: endless, finish: async () => {} } as unknown as UpstreamResponse
  const reader = { take () {}, hasBegun: false, isDone: false }
  const error = await rejection(relayNamedEvents(exchange, reader))
  t.match(error, { kind: 'bad_reply', message: /before its answer began/ })
  t.ok(sent <= maxResponseBytes + event.length, `${sent} bytes`)
})
