import t from 'tap'
import { parseConfig } from '../../../../services/config/read/parse.ts'

const providers = 'environment_providers: false\nproviders: [{ id: runway, api_key: x }, { id: mine, base_url: "http://a" }]\n'

/** The abilities of a video model with these fields. */
function videoOf (fields: string) {
  return parseConfig(`${providers}models: [{ id: film, kind: video, ${fields} }]`, {}).models[0]?.video
}

t.test('without a file and a catalogue entry nothing is known', async t => {
  t.equal(videoOf('provider: mine'), undefined)
  t.match(videoOf('provider: mine, video: { sizes: [640x360] }'), {
    seconds: null, defaultSeconds: null, maxSeconds: null, sizes: ['640x360'], audio: true, firstFrame: null, lastFrame: false
  })
})

t.test('the file overrides the catalogue field by field, and its lengths set the longest', async t => {
  t.match(videoOf('provider: runway, model: veo3.1'), { seconds: [4, 6, 8], maxSeconds: 8, lastFrame: true })
  t.match(videoOf('provider: runway, model: veo3.1, video: { seconds: [4], audio: false }'),
    { seconds: [4], maxSeconds: 4, audio: false, lastFrame: true })
  t.match(videoOf('provider: mine, video: { seconds: [4], max_seconds: 20 }'), { maxSeconds: 20 })
})

t.test('prices by size and audio are exact, and null matches any', async t => {
  t.same(videoOf('provider: mine, video: { prices: [{ size: 640x360, second: 0.08 }, { audio: true, second: 0.1 }] }')?.prices, [
    { size: '640x360', audio: null, secondNano: 80_000_000 },
    { size: null, audio: true, secondNano: 100_000_000 }
  ])
})

t.test('a default length that is not supported is a problem', async t => {
  t.throws(() => videoOf('provider: mine, video: { seconds: [4], default_seconds: 5 }'),
    /models\[0\]\.video\.default_seconds: is not one of the supported lengths/)
})

t.test('a default size that is not supported is a problem', async t => {
  t.throws(() => videoOf('provider: mine, video: { sizes: [640x360], default_size: 1280x720 }'),
    /models\[0\]\.video\.default_size: is not one of the supported sizes/)
})

t.test('a model of which nothing is known takes pictures, unless its capabilities say otherwise', async t => {
  const modelOf = (fields: string) =>
    parseConfig(`${providers}models: [{ id: film, kind: video, provider: mine, ${fields} }]`, {}).models[0]
  t.match(modelOf('price: { second: 1 }'), { capabilities: { vision: true } })
  t.match(modelOf('video: { sizes: [640x360] }'), { capabilities: { vision: true, audio: false }, video: { firstFrame: null } })
  t.match(modelOf('capabilities: { vision: false }'), { capabilities: { vision: false } })
  t.match(modelOf('video: { first_frame: false }'), { video: { firstFrame: false } })
})
