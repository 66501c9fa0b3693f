import t from 'tap'
import type { ModelConfig, VideoAbilities } from '../../../../services/config/catalogue/types.ts'
import { emptyPrice, modelFromCatalogue } from '../../../../services/config/catalogue/models.ts'
import { unknownVideo } from '../../../../services/config/catalogue/videos.ts'
import { priceOf } from '../../../../services/billing/video-price.ts'
import type { PricedChoices, VideoSize } from '../../../../services/providers/provider-video.ts'
import { makeChoices } from '../../../../services/videos/make-choices.ts'
import { readVideoOrder } from '../../../../services/videos/read-request.ts'
import type { FakeVideoApi } from '../../../servers/videos/fake-api.ts'
import { fakeVideoApis } from '../../../servers/videos/fake-apis.ts'
import { thrown } from '../../../helpers/thrown.ts'
import { connect, lengthOf, nameOf, signal, sizesOf } from './helper.ts'

const sizes = ['854x480', '1280x720', '1366x768', '1920x1080', '2560x1440', '3840x2160']

/** Every pixel count and sound has a price of its own. */
const prices: VideoAbilities['prices'] = sizes.flatMap((size, index) => [true, false].map(audio => ({
  size, audio, secondNano: 1_000 * (index + 1) + (audio ? 100 : 0)
})))

const modelOf = (upstream: string, video: Partial<VideoAbilities> = {}): ModelConfig => ({
  ...modelFromCatalogue('up', upstream),
  kind: 'video',
  price: { ...emptyPrice, secondNano: 7 },
  video: { ...unknownVideo, firstFrame: true, prices, ...video }
})

function fieldIn (body: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => Object(value)[key], body)
}

const nameSizes: Record<string, string> = Object.fromEntries([
  ['360p', '640x360'], ['480p', '854x480'], ['540p', '960x540'], ['720p', '1280x720'], ['768p', '1366x768'], ['1080p', '1920x1080'],
  ['2k', '2560x1440'], ['4k', '3840x2160'], ['std', '1280x720'], ['pro', '1920x1080']
])

function sizeIn (body: unknown, path: string): VideoSize {
  const [first = '', second] = path.split('*')
  const found = first.split('|').map(one => fieldIn(body, one)).find(value => value !== undefined)
  const text = second === undefined ? String(found) : `${String(found)}x${String(fieldIn(body, second))}`
  const [width = NaN, height = NaN] = (nameSizes[text.toLowerCase()] ?? text).split(/[x:*]/).map(Number)
  return { width, height }
}

/** What a submit states of the choices that change the price. */
function stated (body: unknown, { priced }: FakeVideoApi): PricedChoices {
  const { seconds, resolution, audio } = priced
  const sound = typeof audio === 'boolean' ? audio : fieldIn(body, audio)
  return {
    seconds: parseFloat(String(fieldIn(body, seconds))),
    size: sizeIn(body, resolution),
    audio: sound === 'on' || sound === true ? true : sound === 'off' || sound === false ? false : Object(sound)
  }
}

for (const api of fakeVideoApis) {
  t.test(`${nameOf(api)}: what is priced is what the provider receives`, async t => {
    const { server, provider } = await connect(t, api)
    const candidates = [{ provider: { videos: provider }, deployment: { provider: 'it', model: api.model, weight: 1, priority: 0 } }]
    const { wide, tall } = sizesOf(api)
    const text = ({ width, height }: VideoSize) => `${width}x${height}`
    const seconds = lengthOf(api)
    const wishes = [
      {}, { seconds }, { size: text(wide) },
      ...(api.isWideOnly === true ? [] : [{ size: text(tall), seconds }, { aspect_ratio: '9:16' }]),
      ...(api.priced.audio === false ? [] : [{ audio: true }, { audio: true, size: text(wide) }]),
      ...(api.priced.audio === true ? [] : [{ audio: false }])
    ]
    const model = modelOf(api.model)
    for (const video of wishes) {
      const request = { model: 'film', messages: [{ role: 'user' as const, content: 'a ball' }], video }
      const { task } = makeChoices(readVideoOrder(request, model), model, candidates)
      await provider.submit({ ...task, model: api.model, submitKey: 'k', firstFrame: null, lastFrame: null }, signal())
      const received = stated(server.jobs.at(-1)?.body, api)
      const label = JSON.stringify(video)
      t.equal(received.seconds, task.seconds, `length of ${label}`)
      t.equal(received.audio, task.audio, `sound of ${label}`)
      t.same(priceOf(model, received), priceOf(model, task), `price of ${label}`)
      t.not(priceOf(model, task).secondNano, 7, `a price by size and sound for ${label}`)
      if (video.audio !== undefined) t.equal(task.audio, video.audio)
      if (video.seconds !== undefined) t.equal(task.seconds, video.seconds)
      if (video.size !== undefined) t.equal(text(task.size), video.size)
    }
    if (typeof api.priced.audio === 'boolean') {
      const request = { model: 'film', messages: [{ role: 'user' as const, content: 'a' }], video: { audio: !api.priced.audio } }
      t.match(thrown(() => makeChoices(readVideoOrder(request, model), model, candidates)), { status: 400, param: 'video.audio' })
    }
    const odd = { model: 'film', messages: [{ role: 'user' as const, content: 'a' }], video: { size: '1000x700' } }
    if (!['openai', 'together', 'openrouter', 'runway'].includes(api.protocol)) {
      t.match(thrown(() => makeChoices(readVideoOrder(odd, model), model, candidates)), { status: 400, param: 'video.size' })
    }
  })
}
