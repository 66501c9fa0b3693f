import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ModelConfig, VideoAbilities } from '../../../services/config/catalogue/types.ts'
import { priceOf } from '../../../services/billing/video-price.ts'
import { makeChoices } from '../../../services/videos/make-choices.ts'
import { readVideoOrder } from '../../../services/videos/read-request.ts'
import type { VideoChoices, VideoProvider } from '../../../services/providers/provider-video.ts'
import { UpstreamError } from '../../../services/shared/errors.ts'
import { createProvider } from './provider.ts'
import { thrown } from '../../helpers/thrown.ts'
import { modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
import { unknownVideo } from '../../../services/config/catalogue/videos.ts'

const any: VideoAbilities = { ...unknownVideo, firstFrame: true, lastFrame: true }
const tokens = { inputPico: null, outputPico: null, cacheReadPico: null, cacheWritePico: null }
const noPrice = { ...tokens, imageNano: null }
const modelWith = (video: Partial<VideoAbilities> = {}): ModelConfig => ({
  ...modelFromCatalogue('up', 'film'), kind: 'video', price: { ...noPrice, secondNano: 1_000 }, video: { ...any, ...video }
})
const ask = (content: unknown, more: object = {}) =>
  ({ model: 'film', messages: [{ role: 'user', content }], ...more }) as ChatCompletionRequest
const image = (url: string) => ({ type: 'image_url', image_url: { url } })

t.test('the last user message says what to make, its pictures where it begins and ends', async t => {
  const messages = [
    { role: 'system', content: 'be nice' }, { role: 'user', content: [image('https://x/old.png')] }, { role: 'assistant', content: 'ok' },
    { role: 'user', content: [{ type: 'text', text: 'a' }, image('https://x/1.png'), { type: 'text', text: 'b' }, image('data:image/png;base64,iVBORw0KGgo=')] }
  ]
  t.match(readVideoOrder(ask('', { messages }), modelWith()), {
    prompt: 'a\nb', firstFrame: 'https://x/1.png', lastFrame: 'data:image/png;base64,iVBORw0KGgo=', seconds: null, size: null
  })
})

t.test('the address of a picture within a text is a picture, for a model that takes one', async t => {
  for (const [text, prompt, url] of [
    ['https://x/a.png', '', 'https://x/a.png'],
    ['move https://x/a.JPEG?w=1 slowly', 'move slowly', 'https://x/a.JPEG?w=1'],
    ['(https://x/a.webp)', '( )', 'https://x/a.webp'],
    ['see https://x/a.html', 'see https://x/a.html', null],
    ['http://x/a.png', 'http://x/a.png', null],
    ['https://x/a.pngs', 'https://x/a.pngs', null]
  ] as const) {
    t.match(readVideoOrder(ask(text), modelWith()), { prompt, firstFrame: url })
  }
  t.match(readVideoOrder(ask('move https://x/a.png'), modelWith({ firstFrame: false })), { prompt: 'move https://x/a.png', firstFrame: null })
})

t.test('what a model does not take is refused by name', async t => {
  const two = [image('https://x/1.png'), image('https://x/2.png')]
  for (const [content, video] of [[two, { lastFrame: false }], [two.slice(1), { firstFrame: false }], [[image('data:text/plain,x')], {}]] as const) {
    t.match(thrown(() => readVideoOrder(ask(content), modelWith(video))), { status: 400, param: 'messages' })
  }
})

t.test('no size is larger than any model makes', async t => {
  const oversized = thrown(() => readVideoOrder(ask('a', { video: { size: '8194x2' } }), modelWith({ sizes: null })))
  t.match(oversized, { status: 400, param: 'video.size', message: /8192 pixels a side/ })
})

const usual: VideoChoices = { seconds: 5, size: '1280x720', sound: 'stated' }

/** A candidate whose requests state everything but what `check` refuses. */
const candidate = (choices: Partial<VideoChoices> = {}, check: VideoProvider['check'] = () => {}) => ({
  deployment: { provider: 'up', model: 'film', weight: 1, priority: 0 },
  provider: { videos: { ...createProvider(), choices: () => ({ ...usual, ...choices }), check } }
})

const taskOf = (video: object, model = modelWith(), candidates = [candidate()]) =>
  makeChoices(readVideoOrder(ask('a', { video }), model), model, candidates).task

t.test('every choice that a price depends on is made: by the client, the configuration or as is usual', async t => {
  t.match(taskOf({}), { seconds: 5, size: { width: 1280, height: 720 }, isSizeAsked: false, audio: false })
  t.match(taskOf({ audio: true, seconds: 4, size: '640x360' }), { seconds: 4, size: { width: 640 }, isSizeAsked: true, audio: true })
  const configured = modelWith({ defaultSeconds: 8, defaultSize: '1920x1080', defaultAudio: true })
  t.match(taskOf({}, configured), { seconds: 8, size: { height: 1080 }, audio: true })
  t.match(taskOf({ audio: false }, configured), { audio: false })
  t.match(taskOf({}, modelWith({ seconds: [4, 8], sizes: ['640x360', '360x640'] })), { seconds: 4, size: { width: 640 } })
  t.match(taskOf({}, modelWith({ maxSeconds: 3 })), { seconds: 3 })
  t.match(taskOf({}, modelWith(), [candidate({ sound: 'always' })]), { audio: true })
  t.match(taskOf({}, modelWith({ audio: false }), [candidate({ sound: 'always' })]), { audio: false }, 'as configured')
})

t.test('an aspect ratio alone gives a size of that shape with as many pixels', async t => {
  t.match(taskOf({ aspect_ratio: '9:16' }), { size: { width: 720, height: 1280 }, aspectRatio: '9:16', isSizeAsked: false })
  t.match(taskOf({ aspect_ratio: '1:1' }), { size: { width: 960, height: 960 } })
  const model = modelWith({ sizes: ['1920x1080', '1280x720', '720x1280', '1080x1920'] })
  t.match(taskOf({ aspect_ratio: '9:16' }, model), { size: { width: 720, height: 1280 } })
  t.match(thrown(() => taskOf({ aspect_ratio: '1:1' }, model)), { status: 400, param: 'video.aspect_ratio' })
  t.match(thrown(() => taskOf({ aspect_ratio: '1:1', size: '1280x720' })), { status: 400, param: 'video.aspect_ratio' })
})

t.test('a wish goes to the candidates that can state it, and is refused by name if none can', async t => {
  const silent = candidate({ sound: 'never' })
  const stating = candidate()
  const model = modelWith()
  const made = makeChoices(readVideoOrder(ask('a', { video: { audio: true } }), model), model, [silent, stating])
  t.equal(made.task.audio, true)
  t.same(made.able, [stating])
  t.match(thrown(() => taskOf({ audio: true }, model, [silent])), { status: 400, param: 'video.audio' })
  t.match(thrown(() => taskOf({ audio: false }, model, [candidate({ sound: 'always' })])), { status: 400, param: 'video.audio' })
  const refuses = candidate({}, () => { throw new UpstreamError('bad_request', 'no', 'The model takes no seed.', { param: 'seed' }) })
  t.match(thrown(() => taskOf({ seed: 1 }, model, [refuses])), { status: 400, param: 'seed', message: 'The model takes no seed.' })
})

t.test('a video costs its length at the price of its size and sound', async t => {
  const model = modelWith({
    prices: [{ size: '1280x720', audio: true, secondNano: 5_000 }, { size: null, audio: true, secondNano: 3_000 }, { size: '1280x720', audio: null, secondNano: 2_000 }]
  })
  const cost = (video: object) => priceOf(model, taskOf({ size: '640x360', ...video }, model)).maxNano
  t.equal(cost({ seconds: 4 }), 4_000)
  t.equal(cost({ seconds: 4, audio: true }), 12_000)
  t.equal(cost({ seconds: 4, size: '1280x720' }), 8_000)
  t.equal(cost({ seconds: 4, size: '720x1280' }), 8_000, 'of the same number of pixels')
  t.equal(cost({ seconds: 4, size: '1104x832' }), 8_000, 'or about as many')
  t.equal(cost({ seconds: 4, size: '1920x1080' }), 8_000, 'no larger size is cheaper')
  t.equal(cost({ seconds: 4, size: '1280x720', audio: true }), 20_000)
  t.equal(priceOf(model, { ...taskOf({}), seconds: 0.0015 }).maxNano, 3, 'rounded up once')
  t.match(thrown(() => priceOf({ ...modelWith(), price: null }, taskOf({}))), { code: 'model_not_priced', message: /price: { second: … }/ })
})
