import t from 'tap'
import * as fixtures from '../fixtures/gemini/responses.ts'
import { startGateway } from '../helpers/gateway.ts'
import { problem, says, startGemini, type Response } from '../servers/gemini.ts'
import { forgetful, roundTrips, type RunnableTool } from './clients.ts'

const server = await startGemini()
t.teardown(() => server.close())
// A gateway configured only by a key and a URL, as in `GEMINI_API_KEY=… npm start`.
const gateway = await startGateway(t, { env: { GEMINI_API_KEY: 'gm-key', GEMINI_BASE_URL: server.baseUrl } })

const posted = () => server.requests.filter(({ method }) => method === 'POST').map(({ body }) => body)
const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const json = (text: string): Response[] => [{ candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }] }]

for (const [name, connect] of Object.entries(roundTrips)) {
  for (const stream of [false, true]) {
    t.test(`${name} talks to Gemini, ${stream ? 'streamed' : 'whole'}`, async t => {
      const client = connect(gateway)
      const model = 'gemini-3.5-flash'
      server.script(says(fixtures.text))
      t.match(await client.ask({ model, prompt: 'Hi', stream, image: pixel }), {
        text: 'Grüße, 日本語 👩‍👩‍👧‍👦', finish: 'stop', tokens: { prompt: 11, completion: 9 }
      })
      t.match(posted().at(-1), {
        contents: [{ role: 'user', parts: [{ text: 'Hi' }, { inlineData: { mimeType: 'image/png' } }] }]
      })
      server.script(says(fixtures.usedUp))
      t.match(await client.ask({ model: `gemini/${model}`, prompt: 'Hi', stream }), { text: '', finish: 'length' })
    })

    t.test(`${name} runs the tools that Gemini calls, ${stream ? 'streamed' : 'whole'}`, async t => {
      const ran: [string, unknown][] = []
      const tools = ['get_weather', 'get_time'].map((name): RunnableTool => ({
        name,
        schema: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
        run: input => {
          ran.push([name, input])
          return `${name} is fine`
        }
      }))
      server.script(says(fixtures.parallelCalls), says(fixtures.thinking))
      const heard = await connect(gateway).ask({
        model: 'gemini-3.5-flash', prompt: 'Weather?', stream, tools, effort: 'low'
      })
      t.match(heard, { text: '4', finish: 'stop' })
      t.same(ran.toSorted(), [['get_time', {}], ['get_weather', { city: 'Zürich', days: 2 }]])
      const [first, second] = posted().slice(-2)
      t.match(first, { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } })
      // It rebuilds tool calls from id, name and arguments; Google defines a value for a lost signature.
      const isLossy = name === forgetful
      t.match(second?.contents, [
        { role: 'user' },
        {
          role: 'model',
          parts: [
            {
              functionCall: { id: 'k5vrs2o4', name: 'get_weather' },
              thoughtSignature: isLossy ? 'skip_thought_signature_validator' : fixtures.signature
            },
            { functionCall: { name: 'get_time', args: {} } }
          ]
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'k5vrs2o4', name: 'get_weather', response: { result: 'get_weather is fine' } } },
            { functionResponse: { name: 'get_time', response: { result: 'get_time is fine' } } }
          ]
        }
      ])
      t.equal(heard.reasoning, '**Adding**\n\nTwo and two.')
    })
  }

  t.test(`${name} gets objects and errors`, async t => {
    const client = connect(gateway)
    const schema = {
      type: 'object', properties: { age: { type: 'integer', minimum: 0 } }, required: ['age'], additionalProperties: false
    }
    server.script(says(json('{"age": 7}')))
    t.same(await client.extract('gemini-2.5-pro', 'How old?', schema), { age: 7 })
    t.match(posted().at(-1), {
      generationConfig: { responseMimeType: 'application/json', responseJsonSchema: { additionalProperties: false } }
    })
    const refusals: [number, string, number][] = [
      [400, 'INVALID_ARGUMENT', 400], [403, 'PERMISSION_DENIED', 502], [404, 'NOT_FOUND', 404]
    ]
    for (const [status, word, expected] of refusals) {
      server.script(problem(status, word, 'x'))
      t.equal(await client.failure('gemini-3.5-flash'), expected, word)
    }
  })
}
