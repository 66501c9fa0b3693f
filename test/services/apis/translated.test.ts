import t from 'tap'
import { GatewayError } from '../../../services/shared/errors.ts'
import { translatedForm, type Translator } from '../../../services/apis/translated.ts'
import { asWritten } from '../../../services/chat/openai-apis.ts'
import { doneEvent, encodeEvent, encodeNamedEvent } from '../../../services/providers/upstream/sse.ts'

/** An API whose responses are the texts alone. */
const translator: Translator = {
  whole: ({ choices: [choice] }) => ({ text: choice?.message.content }),
  stream: () => ({
    next ({ choices: [choice] }) {
      return choice === undefined ? Buffer.alloc(0) : encodeNamedEvent('text', choice.delta.content)
    },
    end: () => encodeNamedEvent('end', {}),
    error: ({ message }) => encodeNamedEvent('failed', { message })
  })
}

const form = translatedForm(translator)
const settled = { costNano: 1, estimate: null }

/** What a client gets of a stream. */
async function written (chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const { events, encodeError } = form.stream(chunks, async () => settled)
  let text = ''
  try {
    for await (const piece of events) text += Buffer.from(piece).toString()
  } catch {
    text += Buffer.from(encodeError(GatewayError.badGateway('It broke.'))).toString()
  }
  return text
}

const chunk = (content: string) =>
  encodeEvent({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })

t.test('a whole completion has the form of the API', async t => {
  const body = { choices: [{ index: 0, message: { content: 'Hello' } }] }
  t.same(await form.whole({ body, text: JSON.stringify(body) }, settled), { body: { text: 'Hello' }, text: null })
})

t.test('a stream ends with the events of the API, and without [DONE]', async t => {
  async function * events () {
    yield Buffer.concat([chunk('a'), chunk('b')])
    yield encodeEvent({ choices: [] })
    yield doneEvent
  }
  t.equal(await written(events()), 'event: text\ndata: "a"\n\nevent: text\ndata: "b"\n\nevent: end\ndata: {}\n\n')
})

t.test('a stream that breaks ends with the error event of the API', async t => {
  async function * events () {
    yield chunk('a')
    throw new Error('broken')
  }
  t.equal(await written(events()), 'event: text\ndata: "a"\n\nevent: failed\ndata: {"message":"It broke."}\n\n')
})

t.test('a native response reaches the client as it is', async t => {
  const native = asWritten(error => encodeEvent(error.toBody()))
  const response = { body: { id: 'resp_1' }, text: '{ "id": "resp_1" }' }
  t.same(await native.whole(response, settled), response)
})
