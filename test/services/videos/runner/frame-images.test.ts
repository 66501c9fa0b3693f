import t from 'tap'
import type { VideoProvider } from '../../../../services/providers/provider-video.ts'
import { toFrameImage } from '../../../../services/videos/runner/to-frame-image.ts'
import { rejection } from '../../../helpers/thrown.ts'
import { sampleJob } from '../jobs.ts'
import { createMedia } from '../studio.ts'

const png = Buffer.from('89504e470d0a1a0a00000000', 'hex')
const dataUrl = `data:image/PNG;base64,${png.toString('base64')}`
const webUrl = 'https://images.example/a.png'

async function convert (url: string, format: VideoProvider['frameFormat'], downloaded: Buffer | Error = png) {
  const media = createMedia()
  const downloads: string[] = []
  const download = async (from: string) => {
    downloads.push(from)
    if (downloaded instanceof Error) throw downloaded
    return (async function * () { yield downloaded.subarray(0, 3); yield downloaded.subarray(3) })()
  }
  const result = await rejection(
    toFrameImage({ media, download }, sampleJob(), url, format).then(frame => { throw Object.assign(new Error('frame'), { frame }) }))
  return { result, downloads, stored: [...media.stored.values()] }
}

t.test('a frame is left as it is where the provider takes it so', async t => {
  for (const format of [undefined, 'url'] as const) {
    t.match(await convert(webUrl, format), { result: { frame: { url: webUrl } }, downloads: [], stored: [] })
  }
  for (const format of [undefined, 'bytes'] as const) {
    t.match(await convert(dataUrl, format), { result: { frame: { bytes: png, mime: 'image/png' } }, downloads: [], stored: [] })
  }
})

t.test('an address is downloaded for a provider that takes bytes, whose type is read from them', async t => {
  for (const [start, mime] of [
    ['\x89PNG', 'image/png'], ['\xff\xd8\xff', 'image/jpeg'], ['GIF89a', 'image/gif'], ['RIFF1234WEBP', 'image/webp']
  ] as const) {
    const bytes = Buffer.from(start, 'latin1')
    t.match(await convert(webUrl, 'bytes', bytes), { result: { frame: { bytes, mime } }, downloads: [webUrl] })
  }
})

t.test('bytes are stored for a provider that takes an address', async t => {
  const { result, stored } = await convert(dataUrl, 'url')
  t.match(result, { frame: { url: /^https:\/\/gateway\.example\/v1\/media\// } })
  t.same(stored, [png])
})

t.test('an image that cannot be used is the client\'s error, and nothing was sent', async t => {
  const wanted = { name: 'UpstreamError', kind: 'bad_request', sent: 'no', details: { code: 'invalid_image_url' } }
  const broken = await convert(webUrl, 'bytes', new Error('no such host'))
  t.match(broken.result, { ...wanted, message: /no such host/ })
  t.match((await convert(webUrl, 'bytes', Buffer.from('<html>'))).result, { ...wanted, message: /not a PNG/ })
})
