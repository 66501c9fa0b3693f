import t, { type Test } from 'tap'
import { newProvider } from '../../../../services/config/new-provider.ts'
import { parseConfig } from '../../../../services/config/read/parse.ts'
import type { ImageCall } from '../../../../services/providers/provider-image.ts'
import type { VideoTask } from '../../../../services/providers/provider-video.ts'
import { createProvider } from '../../../../services/providers/registry.ts'
import { Deadlines } from '../../../../services/shared/timers.ts'
import { rejection, thrown } from '../../../helpers/thrown.ts'
import { document, refusal, startBedrock, staticKeys } from '../../../servers/bedrock.ts'

const signal = new AbortController().signal
const none = parseConfig('providers: [{ id: bedrock, region: eu-west-1, aws: {} }]', {}).providers[0]?.aws

async function started (t: Test, bucket: string | null = 's3://films/tollgate') {
  const server = await startBedrock()
  t.teardown(() => server.close())
  const aws = { ...none!, ...staticKeys, bucket }
  const baseUrl = new URL(server.url).origin
  const provider = createProvider(
    newProvider({ id: 'bedrock', protocol: 'bedrock', baseUrl, region: 'eu-west-1', aws }), new Deadlines())
  t.teardown(() => provider.close())
  return { server, images: provider.images!, videos: provider.videos! }
}

const call = (more: Partial<ImageCall>): ImageCall => ({
  request: { model: 'm', prompt: 'A cat', seed: 7 } as ImageCall['request'],
  model: 'amazon.nova-canvas-v1:0',
  count: 1,
  size: null,
  quality: null,
  requestId: 'r',
  signal,
  ...more
})

t.test('Nova Canvas makes five images a call, Stability one', async t => {
  const { server, images } = await started(t)
  const size = { width: 1280, height: 720 }
  t.equal((await images(call({ count: 7, size, quality: 'premium' }))).images.length, 7)
  const bodies = server.requests.map(({ body }) => body)
  t.same(bodies.map(body => Object(body?.imageGenerationConfig).numberOfImages).toSorted(), [2, 5])
  t.match(bodies[0], {
    taskType: 'TEXT_IMAGE',
    textToImageParams: { text: 'A cat' },
    imageGenerationConfig: { ...size, quality: 'premium', seed: 7 }
  })
  t.equal((await images(call({ model: 'stability.sd3-5-large-v1:0', count: 2, size }))).images.length, 2)
  t.same(server.requests.at(-1)?.body, { prompt: 'A cat', seed: 7, output_format: 'png', aspect_ratio: '16:9' })
})

t.test('an image that a filter holds back is moderated', async t => {
  const { server, images } = await started(t)
  server.script(document({ images: [], finish_reasons: ['Filter reason: prompt'] }))
  t.match(await rejection(images(call({ model: 'stability.sd3-5-large-v1:0' }))), { kind: 'moderated' })
  server.script(refusal(400, 'ValidationException', 'This request has been blocked by our content filters.'))
  t.match(await rejection(images(call({}))), { kind: 'moderated' })
})

const task = (more: Partial<VideoTask>): VideoTask => ({
  model: 'amazon.nova-reel-v1:1',
  prompt: 'A cat',
  seconds: 6,
  size: { width: 1280, height: 720 },
  audio: false,
  isSizeAsked: false,
  aspectRatio: null,
  seed: null,
  firstFrame: null,
  lastFrame: null,
  submitKey: 'job-1',
  ...more
})

t.test('a video is begun once, polled, and read from the bucket by a signed request', async t => {
  const { server, videos } = await started(t)
  const { handle } = await videos.submit(task({ seed: 3 }), signal)
  t.same(server.requests.at(-1)?.body, {
    clientRequestToken: 'job-1',
    modelId: 'amazon.nova-reel-v1:1',
    modelInput: {
      taskType: 'TEXT_VIDEO',
      textToVideoParams: { text: 'A cat' },
      videoGenerationConfig: { durationSeconds: 6, fps: 24, dimension: '1280x720', seed: 3 }
    },
    outputDataConfig: { s3OutputDataConfig: { s3Uri: 's3://films/tollgate' } }
  })
  server.script(document({ status: 'InProgress' }))
  t.match(await videos.poll(handle, signal), { state: 'running' })
  const done = await videos.poll(handle, signal)
  if (done.state !== 'succeeded') return t.fail(done.state)
  const [film] = done.videos
  const response = film !== undefined && 'open' in film ? await film.open(signal) : null
  t.equal((await response?.read(100))?.toString(), 'film')
  t.same(server.refused, [])
  server.script(document({ status: 'Failed', failureMessage: 'The prompt violates our content policy.' }))
  t.match(await videos.poll(handle, signal), { state: 'failed', error: { kind: 'moderated' } })
})

t.test('Luma and long films have their own forms, and what cannot be stated is refused', async t => {
  const { server, videos } = await started(t)
  await videos.submit(task({ seconds: 18 }), signal)
  t.match(server.requests.at(-1)?.body, {
    modelInput: { taskType: 'MULTI_SHOT_AUTOMATED', multiShotAutomatedParams: { text: 'A cat' } }
  })
  const firstFrame = { bytes: Buffer.from('png'), mime: 'image/png' }
  await videos.submit(task({ model: 'luma.ray-v2:0', seconds: 9, firstFrame, aspectRatio: '9:16' }), signal)
  t.match(server.requests.at(-1)?.body, {
    modelInput: {
      prompt: 'A cat',
      aspect_ratio: '9:16',
      duration: '9s',
      resolution: '720p',
      keyframes: { frame0: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'cG5n' } } }
    }
  })
  for (const wrong of [{ seconds: 7 }, { lastFrame: firstFrame }, { aspectRatio: '9:16' }, { firstFrame, seconds: 12 }]) {
    t.match(thrown(() => videos.check(task(wrong))), { kind: 'bad_request', sent: 'no' })
  }
  const { videos: homeless } = await started(t, null)
  t.match(await rejection(homeless.submit(task({}), signal)), { kind: 'bad_request', sent: 'no' })
})

t.test('a refused video has begun no job; one whose response is lost may have', async t => {
  const { server, videos } = await started(t)
  server.script(refusal(429, 'ThrottlingException', 'Slow down.'))
  t.match(await rejection(videos.submit(task({}), signal)), { kind: 'rate', sent: 'yes' })
  server.script(document({}))
  t.match(await rejection(videos.submit(task({}), signal)), { kind: 'bad_reply', sent: 'maybe' })
})
