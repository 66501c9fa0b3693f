import t from 'tap'
import {
  aspectRatioFor, commonAspectRatios, formatVideoSize, frameUrl, frameUrlOrBase64, resolutionFor,
  sizeForRatio, withoutNulls
} from '../../../../services/providers/video-jobs/fields.ts'
import { taskFor } from './helper.ts'
import { openai } from '../../../servers/videos/openai.ts'

const sized = (width: number, height: number) => taskFor(openai, { size: { width, height } })
const shaped = (aspectRatio: string) => taskFor(openai, { aspectRatio })
const plain = taskFor(openai)

t.test('picks the aspect ratio nearest to the size, unless one is requested', async t => {
  t.equal(aspectRatioFor(sized(1280, 720), commonAspectRatios), '16:9')
  t.equal(aspectRatioFor(sized(1366, 768), commonAspectRatios), '16:9')
  t.equal(aspectRatioFor(sized(720, 1280), commonAspectRatios), '9:16')
  t.equal(aspectRatioFor(sized(832, 1104), commonAspectRatios), '3:4')
  t.equal(aspectRatioFor(sized(1470, 630), commonAspectRatios), '21:9')
  t.equal(aspectRatioFor({ ...sized(1280, 720), aspectRatio: '1:1' }, commonAspectRatios), '1:1')
  t.equal(aspectRatioFor(plain, commonAspectRatios), null)
})

t.test('picks the resolution with the nearest number of pixels', async t => {
  const names = ['480p', '720p', '1080p'] as const
  const expected = {
    '854x480': '480p',
    '640x640': '480p',
    '992x432': '480p',
    '720x1280': '720p',
    '960x960': '720p',
    '1920x1080': '1080p',
    '1440x1440': '1080p',
    '3840x2160': '1080p'
  }
  for (const [size, name] of Object.entries(expected)) {
    const [width = 0, height = 0] = size.split('x').map(Number)
    t.equal(resolutionFor(sized(width, height), names), name, size)
  }
  t.equal(resolutionFor(sized(2560, 1440), ['768P', '2K']), '2K')
  t.equal(resolutionFor(plain, names), null)
})

t.test('picks the size nearest to the aspect ratio', async t => {
  const sizes = ['1280:720', '720:1280', '960:960']
  t.equal(sizeForRatio(shaped('9:16'), sizes), '720:1280')
  t.equal(sizeForRatio(shaped('21:9'), sizes), '1280:720')
  t.equal(sizeForRatio(shaped('1:1'), sizes), '960:960')
  t.equal(sizeForRatio(plain, sizes), null)
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
