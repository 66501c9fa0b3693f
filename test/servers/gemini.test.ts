import { FunctionCallingConfigMode, GoogleGenAI, ThinkingLevel } from '@google/genai'
import t, { type Test } from 'tap'
import * as fixtures from '../fixtures/gemini/responses.ts'
import { cuts, reset } from './upstream.ts'
import { problem, says, startGemini, type GeminiServer } from './gemini.ts'

// Google's own client against the local server: it holds the server to the wire format that the client reads.

async function start (t: Test): Promise<{ server: GeminiServer, ai: GoogleGenAI }> {
  const server = await startGemini()
  t.teardown(() => server.close())
  const httpOptions = { baseUrl: server.origin, retryOptions: { attempts: 1 } }
  return { server, ai: new GoogleGenAI({ apiKey: 'gm-key', httpOptions }) }
}

const model = 'gemini-3.5-flash'

t.test('@google/genai reads answers, whole and streamed', async t => {
  const { server, ai } = await start(t)
  t.match(await ai.models.generateContent({ model, contents: 'Hi' }), {
    text: 'Hello! How can I help?', modelVersion: model, usageMetadata: { promptTokenCount: 4, totalTokenCount: 11 }
  })
  const inPieces = says(fixtures.text, { cut: cuts.anywhere(3) })
  server.script(says(fixtures.text), inPieces, says(fixtures.parallelCalls))
  const whole = await ai.models.generateContent({ model, contents: 'Hi' })
  const pieces = await Array.fromAsync(await ai.models.generateContentStream({ model, contents: 'Hi' }))
  t.equal(whole.text, 'Grüße, 日本語 👩‍👩‍👧‍👦')
  t.equal(pieces.map(piece => piece.text ?? '').join(''), whole.text)
  t.equal(pieces.at(-1)?.usageMetadata?.cachedContentTokenCount, 4)
  t.match((await ai.models.generateContent({ model, contents: 'Hi' })).functionCalls, [
    { name: 'get_weather', args: { city: 'Zürich', days: 2 }, id: 'k5vrs2o4' }, { name: 'get_time', args: {} }
  ])
})

t.test('every request of @google/genai is accepted', async t => {
  const { server, ai } = await start(t)
  await ai.models.generateContent({
    model,
    contents: [
      {
        role: 'user', parts: [{ text: 'Weather?' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0K' } }]
      },
      {
        role: 'model',
        parts: [{ functionCall: { id: 'a', name: 'f', args: {} }, thoughtSignature: fixtures.signature }]
      },
      { role: 'user', parts: [{ functionResponse: { id: 'a', name: 'f', response: { result: 1 } } }] }
    ],
    config: {
      systemInstruction: 'Be brief.',
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      candidateCount: 2,
      maxOutputTokens: 100,
      stopSequences: ['x'],
      seed: 7,
      presencePenalty: 0.1,
      frequencyPenalty: 0.1,
      responseLogprobs: true,
      logprobs: 2,
      responseMimeType: 'application/json',
      responseJsonSchema: {
        type: 'object', properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { type: 'string' } }
      },
      thinkingConfig: { thinkingLevel: ThinkingLevel.LOW, includeThoughts: true },
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['f'] } }
    }
  })
  t.match((await server.nextRequest()).body, { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } })
})

t.test('invalid requests are refused', async t => {
  const { server, ai } = await start(t)
  const ask = (config: object, contents: object = { role: 'user', parts: [{ text: 'x' }] }, name = model) =>
    ai.models.generateContent({ model: name, contents: [contents].flat(), config })
  const call = { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] }
  const user = { role: 'user', parts: [{ text: 'x' }] }
  const answer = { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] }
  const signed = { role: 'model', parts: [{ ...call.parts[0], thoughtSignature: fixtures.signature }] }
  const schema = { $ref: '#/$defs/A', description: 'x' }
  const cases: [string, Promise<unknown>, RegExp][] = [
    ['an empty text', ask({}, { role: 'user', parts: [{ text: '' }] }), /oneof/],
    ['no parts', ask({}, { role: 'user', parts: [] }), /parts must not be empty/],
    ['another role', ask({}, { role: 'tool', parts: [{ text: 'x' }] }), /valid role/],
    ['a call without a signature', ask({}, [user, call, answer]), /thought_signature/],
    ['a call without its answer', ask({}, [user, signed, user]), /number of function response parts/],
    ['a call at the start', ask({}, [signed, answer]), /function call turn/],
    ['a word beside $ref', ask({ responseMimeType: 'application/json', responseJsonSchema: schema }), /\$ref/],
    ['a schema without its type', ask({ responseJsonSchema: { type: 'object' } }), /mime_type/],
    ['a level of an older kind', ask({ thinkingConfig: { thinkingLevel: 'LOW' } }, user, 'gemini-2.5-pro'), /level/],
    ['no thinking at all', ask({ thinkingConfig: { thinkingBudget: 0 } }, user, 'gemini-2.5-pro'), /budget/],
    ['too many candidates', ask({ candidateCount: 9 }), /candidate_count/],
    ['a seed of 64 bits', ask({ seed: 2 ** 40 }), /seed/],
    ['bytes that are none', ask({}, { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: '*' } }] }), /data/]
  ]
  for (const [name, answered, message] of cases) {
    await t.rejects(answered, { name: 'ApiError', status: 400, message }, name)
  }
  const unknown = await fetch(`${server.baseUrl}/models/${model}:generateContent`, {
    method: 'POST', headers: { 'x-goog-api-key': 'gm-key' }, body: JSON.stringify({ contents: [user], store: true })
  })
  t.match(await unknown.json(), { error: { code: 400, message: /Unknown name "store"/ } })
})

t.test('@google/genai reads errors and lists models page by page', async t => {
  const { server, ai } = await start(t)
  const cutOff = says(fixtures.text, { cut: cuts.breakAfter(1), end: reset })
  server.script(problem(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.'), cutOff, says(fixtures.blockedPrompt))
  await t.rejects(ai.models.generateContent({ model, contents: 'Hi' }), { name: 'ApiError', status: 429 })
  await t.rejects(Array.fromAsync(await ai.models.generateContentStream({ model, contents: 'Hi' })))
  const { promptFeedback } = await ai.models.generateContent({ model, contents: 'Hi' })
  t.equal(promptFeedback?.blockReason, 'PROHIBITED_CONTENT')
  const wrong = new GoogleGenAI({ apiKey: 'gm-wrong', httpOptions: { baseUrl: server.origin } })
  await t.rejects(wrong.models.generateContent({ model, contents: 'Hi' }), { status: 400, message: /API_KEY_INVALID/ })

  const paged = await startGemini({ models: ['gemini-a', 'gemini-b', 'gemini-c'], pageSize: 1 })
  t.teardown(() => paged.close())
  const lister = new GoogleGenAI({ apiKey: 'gm-key', httpOptions: { baseUrl: paged.origin } })
  const names = (await Array.fromAsync(await lister.models.list())).map(one => one.name)
  t.same(names, ['models/gemini-a', 'models/gemini-b', 'models/gemini-c'])
})
