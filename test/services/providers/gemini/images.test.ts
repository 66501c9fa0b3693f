import t, { type Test } from 'tap'
import { catalogueModelNames, modelFromCatalogue } from '../../../../services/config/catalogue/models.ts'
import { failureOf, imageProviderAt, picture, startImageServer, type Reply } from '../../../servers/image-server.ts'
import { mismatch, wireFixture } from '../video-jobs/wire.ts'

const { request: requestType = {}, answer: answerType = {} } = wireFixture('gemini-images')

const png = await picture(8, 8)
const inlineData = { mimeType: 'image/png', data: png.toString('base64') }
const candidate = { content: { role: 'model', parts: [{ text: 'Thinking', thought: true }, { inlineData }] }, finishReason: 'STOP' }
const usageMetadata = {
  promptTokenCount: 5,
  candidatesTokenCount: 1300,
  thoughtsTokenCount: 100,
  candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }]
}

t.test('requests of every size, and the answers of the mock, have the types of the SDKs', async t => {
  const json = { candidates: [candidate], usageMetadata }
  t.equal(mismatch(answerType, json), '', 'the answer')
  t.equal(mismatch(answerType, { candidates: [{ finishReason: 'IMAGE_SAFETY' }] }), '', 'a blocked image')
  t.equal(mismatch(answerType, { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }), '', 'a blocked prompt')
  const { server, make } = await start(t, () => ({ json }))
  const models = catalogueModelNames('gemini').filter(name => modelFromCatalogue('gemini', name).kind === 'image')
  t.ok(models.length > 0)
  for (const model of models) {
    const { sizes } = modelFromCatalogue('gemini', model).images ?? {}
    for (const text of [null, ...sizes ?? []]) {
      const [width = 0, height = 0] = text?.split('x').map(Number) ?? []
      await make({ model, size: text === null ? null : { width, height } }, { seed: 7, user: 'u', style: 'vivid' })
      const { body } = server.seen.at(-1) ?? {}
      t.equal(mismatch(requestType, body), '', `${model} ${text}`)
    }
  }
})

t.test('every reason of the SDK why there is no image is an error; those about content are moderation', async t => {
  const { finishReason } = answerType.properties.candidates.items.properties
  for (const reason of finishReason.enum) {
    const { make } = await start(t, () => ({ json: { candidates: [{ finishReason: reason }] } }))
    const isContent = /SAFETY|RECITATION|BLOCKLIST|PROHIBITED|SPII/.test(reason)
    t.match(await failureOf(make()), { kind: isContent ? 'moderated' : 'bad_reply' }, reason)
  }
})

async function start (t: Test, reply: (asked: number) => Reply) {
  let asked = 0
  const server = await startImageServer(t, () => reply(++asked))
  return { server, make: imageProviderAt(t, `${server.url}/v1beta/openai`, { dialect: 'gemini' }) }
}

t.test('images are requested one by one, from the native API of an OpenAI-compatible base URL', async t => {
  const { server, make } = await start(t, () => ({ json: { candidates: [candidate], usageMetadata } }))
  const made = await make(
    { model: 'gemini-3-pro-image', count: 3, size: { width: 2528, height: 1696 } },
    { seed: 7, style: 'vivid', user: 'u', response_format: 'url' })
  t.equal(server.seen.length, 3)
  t.match(server.seen[0], {
    path: '/v1beta/models/gemini-3-pro-image:generateContent',
    headers: { 'x-goog-api-key': 'sk-upstream-secret', authorization: undefined }
  })
  t.same(server.seen[0]?.body, {
    contents: [{ role: 'user', parts: [{ text: 'A fox' }] }],
    generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '3:2', imageSize: '2K' }, seed: 7 }
  })
  t.same(made.images[0], { bytes: png, revisedPrompt: null })
  t.same(made.usage, { inputText: 15, inputImage: 0, output: 3 * 1290, outputText: 3 * 110 })
  t.same(made.dropped.toSorted(), ['style', 'user'])
})

t.test('the default resolution is not sent, because older models refuse the field', async t => {
  const { server, make } = await start(t, () => ({ json: { candidates: [candidate] } }))
  await make({ size: { width: 768, height: 1344 } })
  await make()
  t.same(server.seen[0]?.body.generationConfig, { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '9:16' } })
  t.same(server.seen[1]?.body.generationConfig, { responseModalities: ['IMAGE'] })
})

t.test('fewer images than requested are an answer', async t => {
  const { make } = await start(t, asked => {
    return { json: { candidates: [asked === 2 ? { finishReason: 'IMAGE_SAFETY' } : candidate], usageMetadata } }
  })
  const made = await make({ count: 3 })
  t.equal(made.images.length, 2)
  t.equal(made.usage?.output, 2 * 1290)
})

t.test('moderation and failures are distinct errors', async t => {
  const error = (code: number, message: string, status: string) => {
    return { status: code, json: { error: { code, message, status } } }
  }
  const cases: [Reply, object][] = [
    [{ json: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } } }, { kind: 'moderated' }],
    [{ json: { candidates: [{ finishReason: 'IMAGE_SAFETY' }] } }, { kind: 'moderated' }],
    [{ json: { candidates: [{ finishReason: 'NO_IMAGE' }] } }, { kind: 'bad_reply' }],
    [{ json: { candidates: [{ content: { parts: [{ text: 'No.' }] }, finishReason: 'STOP' }] } }, { kind: 'bad_reply' }],
    [error(400, 'API key not valid. Please pass a valid API key.', 'INVALID_ARGUMENT'), { kind: 'auth' }],
    [error(400, 'Bad aspect ratio.', 'INVALID_ARGUMENT'), { kind: 'bad_request', message: 'Bad aspect ratio.' }],
    [error(429, 'Quota.', 'RESOURCE_EXHAUSTED'), { kind: 'rate' }],
    [error(503, 'Busy.', 'UNAVAILABLE'), { kind: 'overloaded' }]
  ]
  for (const [reply, expected] of cases) {
    const { make } = await start(t, () => reply)
    t.match(await failureOf(make()), { sent: 'yes', ...expected })
  }
})
