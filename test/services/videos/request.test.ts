import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ModelConfig, VideoAbilities } from '../../../services/catalogue/types.ts'
import { priceOf } from '../../../services/billing/video-price.ts'
import { readTask } from '../../../services/videos/request.ts'
import { thrown } from '../../thrown.ts'
import { modelFromCatalogue } from '../../../services/catalogue/models.ts'
import { unknownVideo } from '../../../services/catalogue/videos.ts'

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
    { role: 'user', content: [{ type: 'text', text: 'a' }, image('https://x/1.png'), { type: 'text', text: 'b' }, image('data:image/png;base64,AAAA')] }
  ]
  t.match(readTask(ask('', { messages }), modelWith()), {
    prompt: 'a\nb', firstFrame: 'https://x/1.png', lastFrame: 'data:image/png;base64,AAAA', seconds: null, size: null
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
    t.match(readTask(ask(text), modelWith()), { prompt, firstFrame: url })
  }
  t.match(readTask(ask('move https://x/a.png'), modelWith({ firstFrame: false })), { prompt: 'move https://x/a.png', firstFrame: null })
})

t.test('what a model does not take is refused by name', async t => {
  const two = [image('https://x/1.png'), image('https://x/2.png')]
  for (const [content, video] of [[two, { lastFrame: false }], [two.slice(1), { firstFrame: false }], [[image('data:text/plain,x')], {}]] as const) {
    t.match(thrown(() => readTask(ask(content), modelWith(video))), { status: 400, param: 'messages' })
  }
})

t.test('no size is larger than any model makes', async t => {
  const oversized = thrown(() => readTask(ask('a', { video: { size: '8194x2' } }), modelWith({ sizes: null })))
  t.match(oversized, { status: 400, param: 'video.size', message: /8192 pixels a side/ })
})

t.test('a video costs its longest length at the price that fits it', async t => {
  const model = modelWith({
    maxSeconds: 10,
    prices: [{ size: '1280x720', audio: true, secondNano: 5_000 }, { size: null, audio: true, secondNano: 3_000 }, { size: '1280x720', audio: null, secondNano: 2_000 }]
  })
  const cost = (video: object) => priceOf(model, readTask(ask('a', { video }), model)).maxNano
  t.equal(cost({}), 10_000)
  t.equal(cost({ seconds: 4 }), 4_000)
  t.equal(cost({ seconds: 4, audio: true }), 12_000)
  t.equal(cost({ seconds: 4, size: '1280x720' }), 8_000)
  t.equal(cost({ seconds: 4, size: '1280x720', audio: true }), 20_000)
  t.equal(cost({ seconds: 0.0015 }), 2, 'rounded up once')
  t.match(thrown(() => priceOf({ ...modelWith(), price: null }, readTask(ask('a'), model))), { code: 'model_not_priced', message: /price: { second: … }/ })
})
