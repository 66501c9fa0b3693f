import t from 'tap'
import { readVideoModels } from '../../../../services/providers/openai/openrouter-video-list.ts'

/** The prices of a model with these, as `[size, audio, USD per second]`. */
function pricesWith (skus: unknown, row: object = {}) {
  const video = readVideoModels({ data: [{ id: 'm', pricing_skus: skus, ...row }] }).get('m')?.video
  return video?.prices.map(({ size, audio, secondNano }) => [size, audio, secondNano / 1e9])
}

t.test('what a model does is read', async t => {
  const models = readVideoModels({
    data: [{
      id: 'google/veo-3.1',
      supported_durations: [8, 4, 6],
      supported_resolutions: ['720p', '1080p'],
      supported_aspect_ratios: ['16:9', 'auto'],
      supported_sizes: ['1280x720', 'any'],
      supported_frame_images: ['first_frame', 'last_frame'],
      generate_audio: true,
      pricing_skus: { duration_seconds_with_audio: '0.40', duration_seconds_without_audio: '0.20', duration_seconds_with_audio_4k: '0.60' }
    }, { id: 7 }, null]
  })
  t.same([...models], [['google/veo-3.1', {
    kind: 'video',
    video: {
      seconds: [4, 6, 8],
      maxSeconds: 8,
      sizes: ['1280x720'],
      aspectRatios: ['16:9'],
      audio: true,
      firstFrame: true,
      lastFrame: true,
      prices: [
        { size: '3840x2160', audio: true, secondNano: 600_000_000 },
        { size: null, audio: true, secondNano: 400_000_000 },
        { size: null, audio: false, secondNano: 200_000_000 }
      ]
    }
  }]])
})

t.test('prices are read in every unit and form', async t => {
  t.same(pricesWith({ duration_seconds: '0.1' }), [[null, null, 0.1]])
  t.same(pricesWith({ cents_per_second_output: '12' }), [[null, null, 0.12]])
  t.same(pricesWith({ cents_per_video_output_second_480p: '5', cents_per_video_output_second_720p_with_audio: '7.5' }),
    [['1280x720', true, 0.075], ['854x480', null, 0.05]])
  t.same(pricesWith({ text_to_video_duration_seconds_720p: '0.1', image_to_video_duration_seconds_720p: '0.15' }),
    [['1280x720', null, 0.15], ['1280x720', null, 0.1]], 'the dearer one is first')
  t.same(pricesWith({ video_tokens: '0.0000107' }, { supported_resolutions: ['720p'] }), [['1280x720', null, 0.23112]])
  t.same(pricesWith({ video_tokens: '0.0000107' }, { supported_sizes: ['640x640'] }), [['640x640', null, 0.10272]])
})

t.test('a fee per picture and the least price are added as for the shortest video', async t => {
  const row = { supported_durations: [2, 10], supported_frame_images: ['first_frame', 'last_frame'] }
  t.same(pricesWith({ cents_per_second_output: '5', cents_per_image_input: '1' }, row), [[null, null, 0.06]])
  t.same(pricesWith({ cents_per_second_output: '5', minimum_cents_per_generation: '56' }, row), [[null, null, 0.28]])
  t.same(pricesWith({ duration_seconds: '0.1', reference_images: '0.04', video_tokens_with_video_input: '1' }), [[null, null, 0.1]],
    'what is never sent costs nothing')
})

t.test('a price in another unit leaves a model unpriced', async t => {
  for (const skus of [undefined, null, {}, { generate: '0.5' }, { duration_seconds: '-1' }, { duration_seconds: 'x' },
    { duration_seconds_9k: '1' }, { duration_seconds: '0.1', per_track: '1' }, { duration_seconds: '1', cents_per_image_input: 'x' }]) {
    t.same(pricesWith(skus), [], JSON.stringify(skus))
  }
})

t.test('what is no list has no models', async t => {
  for (const list of [null, 'text', {}, { data: {} }, []]) t.equal(readVideoModels(list).size, 0)
})
