import t from 'tap'
import {
  aspectRatioFor, commonAspectRatios, formatVideoSize, frameUrl, frameUrlOrBase64, resolutionFor,
  sizeAmong, withoutNulls
} from '../../../../services/providers/video-jobs/fields.ts'
import { thrown } from '../../../helpers/thrown.ts'
import { taskFor } from './helper.ts'
import { openai } from '../../../servers/videos/openai.ts'

const sized = (width: number, height: number) =>
  taskFor(openai, { size: { width, height }, isSizeAsked: true })
const shaped = (aspectRatio: string, width: number, height: number) =>
  taskFor(openai, { aspectRatio, size: { width, height } })

t.test('states the aspect ratio that was asked for, by itself or as the shape of a size', async t => {
  t.equal(aspectRatioFor(sized(1280, 720), commonAspectRatios), '16:9')
  t.equal(aspectRatioFor(sized(864, 496), commonAspectRatios), '16:9')
  t.equal(aspectRatioFor(sized(720, 1280), commonAspectRatios), '9:16')
  t.equal(aspectRatioFor(sized(832, 1104), commonAspectRatios), '3:4')
  t.equal(aspectRatioFor(sized(1470, 630), commonAspectRatios), '21:9')
  t.equal(aspectRatioFor(shaped('1:1', 960, 960), commonAspectRatios), '1:1')
  t.equal(aspectRatioFor(taskFor(openai), commonAspectRatios), null)
  t.match(thrown(() => aspectRatioFor(shaped('3:2', 1176, 784), commonAspectRatios)),
    { kind: 'bad_request', sent: 'no', details: { param: 'video.aspect_ratio' } })
  t.match(thrown(() => aspectRatioFor(sized(1176, 784), commonAspectRatios)), { details: { param: 'video.size' } })
})

t.test('states the resolution with as many pixels, and refuses sizes between', async t => {
  const names = ['480p', '720p', '1080p'] as const
  const expected = {
    '480p': ['854x480', '832x480', '864x496', '640x640', '624x624', '752x560', '960x416', '992x432', '720x544'],
    '720p': ['1280x720', '720x1280', '960x960', '1104x832', '1470x630', '1504x640', '1248x704'],
    '1080p': ['1920x1080', '1088x1920', '1440x1440', '1662x1248', '2206x946']
  }
  for (const [name, sizes] of Object.entries(expected)) {
    for (const size of sizes) {
      const [width = 0, height = 0] = size.split('x').map(Number)
      t.equal(resolutionFor(sized(width, height), names), name, size)
    }
  }
  t.equal(resolutionFor(sized(2560, 1440), ['768P', '2K']), '2K')
  for (const [width, height] of [[1366, 768], [3840, 2160], [720, 720], [2, 2]] as const) {
    t.match(thrown(() => resolutionFor(sized(width, height), names)), { sent: 'no', details: { param: 'video.size' } })
  }
})

t.test('states one of a list of sizes: exactly that of a request, or the nearest to an aspect ratio', async t => {
  const sizes = ['1280*720', '1088*832', '720*1280', '1920*1080']
  t.equal(sizeAmong(sized(720, 1280), sizes), '720*1280')
  t.equal(sizeAmong(shaped('4:3', 1108, 832), sizes), '1088*832')
  t.match(thrown(() => sizeAmong(sized(1108, 832), sizes)), { details: { param: 'video.size' } })
  t.match(thrown(() => sizeAmong(shaped('1:1', 960, 960), sizes)), { details: { param: 'video.aspect_ratio' } })
  t.equal(formatVideoSize(sized(832, 480), '*'), '832*480')
})

t.test('formats a frame as a URL, data URL or base64', async t => {
  const bytes = { bytes: new Uint8Array([0, 1, 254, 255]).subarray(1), mime: 'image/png' }
  t.equal(frameUrl(bytes), 'data:image/png;base64,Af7/')
  t.equal(frameUrlOrBase64(bytes), 'Af7/')
  t.equal(frameUrl({ url: 'https://a.example/b.png' }), 'https://a.example/b.png')
  t.equal(frameUrlOrBase64(null), null)
})

t.test('removes nulls, and keeps zero, false and empty text', async t => {
  const values = { seed: 0, audio: false, prompt: '' }
  t.same(withoutNulls({ ...values, size: null, seconds: undefined }), values)
})
