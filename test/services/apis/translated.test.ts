import t from 'tap'
import type { Delivery } from '../../../services/requests/delivery.ts'
import { GatewayError } from '../../../services/shared/errors.ts'
import { translated, type SurfaceForm } from '../../../services/apis/translated.ts'
import { doneEvent, encodeEvent, encodeNamedEvent } from '../../../services/providers/upstream/sse.ts'

/** A surface whose answers are the texts alone. */
const form: SurfaceForm = {
  whole: ({ choices: [choice] }) => ({ text: choice?.message.content }),
  stream: () => ({
    next ({ choices: [choice] }) {
      return choice === undefined ? Buffer.alloc(0) : encodeNamedEvent('text', choice.delta.content)
    },
    end: () => encodeNamedEvent('end', {}),
    error: ({ message }) => encodeNamedEvent('failed', { message })
  })
}

/** A client's delivery that keeps what it gets, and one for the use case in front of it. */
function createTest () {
  const sent: unknown[] = []
  let text = ''
  const client: Delivery = {
    json: (headers, body, text) => { sent.push({ headers, body, text }) },
    async stream (headers, events, encodeError) {
      sent.push(headers)
      try {
        for await (const piece of events) text += Buffer.from(piece).toString()
      } catch {
        text += Buffer.from(encodeError?.(GatewayError.badGateway('It broke.')) ?? '').toString()
      }
    },
    longPoll: () => { throw new TypeError('Not a long poll.') }
  }
  return { sent, delivery: translated(client, form), text: () => text }
}

const chunk = (content: string) =>
  encodeEvent({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })

t.test('a whole answer has the form of the surface, made from the text that has the cost', async t => {
  const { delivery, sent } = createTest()
  const body = (content: string) => ({ choices: [{ index: 0, message: { content } }] })
  await delivery.json({ a: '1' }, body('without'), JSON.stringify(body('with')))
  await delivery.json({}, body('alone'), null)
  t.same(sent, [
    { headers: { a: '1' }, body: { text: 'with' }, text: null },
    { headers: {}, body: { text: 'alone' }, text: null }
  ])
})

t.test('a stream ends with the events of the surface, and without [DONE]', async t => {
  const { delivery, text } = createTest()
  async function * events () {
    yield Buffer.concat([chunk('a'), chunk('b')])
    yield encodeEvent({ choices: [] })
    yield doneEvent
  }
  await delivery.stream({}, events())
  t.equal(text(), 'event: text\ndata: "a"\n\nevent: text\ndata: "b"\n\nevent: end\ndata: {}\n\n')
})

t.test('a stream that breaks ends with the error event of the surface', async t => {
  const { delivery, text } = createTest()
  async function * events () {
    yield chunk('a')
    throw new Error('broken')
  }
  await delivery.stream({}, events())
  t.equal(text(), 'event: text\ndata: "a"\n\nevent: failed\ndata: {"message":"It broke."}\n\n')
})

t.test('a native answer reaches the client as it is', async t => {
  const { delivery, sent } = createTest()
  await delivery.native?.json({}, { id: 'resp_1' }, '{ "id": "resp_1" }', { costNano: 1, estimate: null })
  t.same(sent, [{ headers: {}, body: { id: 'resp_1' }, text: '{ "id": "resp_1" }' }])
})
