import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import type { VideoTask } from '../../../../services/providers/provider-video.ts'
import { fal } from '../../../servers/videos/fal.ts'
import { minimax } from '../../../servers/videos/minimax.ts'
import { runway } from '../../../servers/videos/runway.ts'
import { reply } from '../../../servers/videos/server.ts'
import { kling } from '../../../servers/videos/kling.ts'
import { openai } from '../../../servers/videos/openai.ts'
import { seedance } from '../../../servers/videos/seedance.ts'
import { veo } from '../../../servers/videos/veo.ts'
import { wan } from '../../../servers/videos/wan.ts'
import { xai } from '../../../servers/videos/xai.ts'
import { thrown } from '../../../helpers/thrown.ts'
import type { FakeVideoApi } from '../../../servers/videos/fake-api.ts'
import { connect, failureOf, signal, taskFor } from './helper.ts'

const image = { url: 'https://a.example/b.png' }
const hd = { width: 1280, height: 720 }
const fullHd = { width: 1920, height: 1080 }

/** Path and body of the submit of each task; accepts any field. */
async function submitted (t: Test, api: FakeVideoApi, path: RegExp, tasks: Partial<VideoTask>[]) {
  const { server, provider } = await connect(t, { ...api, submit: { path, schema: Type.Object({}) } })
  for (const task of tasks) await provider.submit(taskFor(api, task), signal())
  return server.jobs.map(({ path, body }) => ({ path, body }))
}

t.test('Runway: sends pixels, or aspect ratio and resolution, by model', async t => {
  const jobs = await submitted(t, runway, /to_video$/, [
    { model: 'gen4.5' },
    { model: 'gen4.5', aspectRatio: '9:16', size: { width: 720, height: 1280 }, seconds: 5 },
    { model: 'seedance2', size: { width: 1112, height: 834 }, audio: false },
    { model: 'hailuo3', size: { width: 2560, height: 1440 } },
    { model: 'grok_imagine_1_5', size: hd, firstFrame: image },
    { model: 'gen4_turbo', prompt: '', firstFrame: image },
    { model: 'wan3', firstFrame: image },
    { model: 'happyhorse_1_0', firstFrame: image },
    { model: 'h3_max', size: { width: 854, height: 480 } }
  ])
  t.match(jobs, [
    { path: '/text_to_video', body: { ratio: '1280:720', duration: 8, audio: undefined } },
    { body: { ratio: '720:1280', duration: 5 } },
    { body: { ratio: '1112:834', audio: false } },
    { body: { ratio: '16:9', resolution: '2k', audio: undefined } },
    { path: '/image_to_video', body: { ratio: undefined, resolution: '720p', promptImage: [{ position: 'first' }] } },
    { path: '/image_to_video', body: { promptText: undefined, ratio: '1280:720' } },
    { body: { ratio: 'auto_720p', audio: true } },
    { body: { ratio: undefined, resolution: '720p' } },
    { body: { ratio: undefined, resolution: '480p' } }
  ])
})

t.test('refuses by name what a model has no field for', async t => {
  const tall = { size: { width: 720, height: 1280 }, aspectRatio: '9:16' }
  const refused: [FakeVideoApi, Partial<VideoTask>, string][] = [
    [runway, { model: 'gen4.5', size: { width: 960, height: 960 }, isSizeAsked: true }, 'video.size'],
    [runway, { model: 'gen4.5', prompt: '', firstFrame: image }, 'messages'],
    [runway, { model: 'wan3', ...tall, firstFrame: image }, 'video.aspect_ratio'],
    [runway, { model: 'h3_max', ...tall, size: { width: 768, height: 1366 } }, 'video.aspect_ratio'],
    [runway, { model: 'hailuo3', size: { width: 1366, height: 768 }, seed: 1 }, 'seed'],
    [wan, { model: 'wan2.6-t2v', lastFrame: image }, 'messages'],
    [wan, { model: 'wan2.6-i2v', ...tall, firstFrame: image }, 'video.aspect_ratio'],
    [kling, { ...tall, firstFrame: image }, 'video.aspect_ratio'],
    [kling, { size: { width: 854, height: 480 } }, 'video.size'],
    [xai, { lastFrame: image }, 'messages'],
    [openai, { lastFrame: image }, 'messages'],
    [fal, { model: 'fal-ai/kling-video/v3/pro/image-to-video', size: hd, firstFrame: image }, 'video.size']
  ]
  for (const [api, task, param] of refused) {
    const { server, provider } = await connect(t, api)
    t.match(thrown(() => provider.check(taskFor(api, task))), { kind: 'bad_request', details: { param } }, `${api.protocol} ${param}`)
    await failureOf(provider.submit(taskFor(api, task), signal()))
    t.same(server.requests, [])
  }
})

t.test('Wan: sends size and image up to 2.6, resolution and media later', async t => {
  const jobs = await submitted(t, wan, /video-synthesis$/, [
    { model: 'wan2.6-t2v', aspectRatio: '9:16', size: { width: 720, height: 1280 } },
    { model: 'wan2.6-i2v', size: hd, firstFrame: image, audio: false },
    { model: 'wan2.7-t2v', size: hd, isSizeAsked: true },
    { model: 'wan3-preview', size: { width: 854, height: 480 }, firstFrame: image, lastFrame: image, audio: false }
  ])
  const audio = jobs.map(({ body }) => JSON.stringify(body).match(/"audio":\w+/)?.[0])
  t.same(audio, [undefined, '"audio":false', undefined, '"audio":false'])
  t.match(jobs.map(({ body }) => body), [
    { input: { img_url: undefined }, parameters: { size: '720*1280', resolution: undefined } },
    { input: { img_url: image.url }, parameters: { size: undefined, resolution: '720P' } },
    { input: { media: undefined }, parameters: { size: undefined, resolution: '720P', ratio: '16:9' } },
    { input: { media: [{ type: 'first_frame' }, { type: 'last_frame' }] }, parameters: { resolution: '480P' } }
  ])
})

t.test('fal: uses the field names of each model', async t => {
  const frames = { firstFrame: image, lastFrame: image }
  const jobs = await submitted(t, fal, /^\/fal-ai\/|^\/workflows\//, [
    { model: 'fal-ai/veo3.1/first-last-frame-to-video', ...frames },
    { model: 'fal-ai/kling-video/v2.5-turbo/pro/image-to-video', seconds: 5, size: fullHd, ...frames },
    { model: 'fal-ai/kling-video/v3/pro/image-to-video', seconds: 5, size: fullHd, audio: false, ...frames },
    { model: 'fal-ai/kling-video/o3/standard/image-to-video', seconds: 5, ...frames },
    { model: 'fal-ai/sora-2/text-to-video', seconds: 4 }
  ])
  const { url } = image
  t.match(jobs.map(({ body }) => body), [
    { duration: '8s', first_frame_url: url, last_frame_url: url, generate_audio: true },
    { duration: '5', image_url: url, tail_image_url: url, generate_audio: undefined, resolution: undefined },
    { duration: '5', start_image_url: url, end_image_url: url, generate_audio: false },
    { image_url: url, end_image_url: url, generate_audio: true },
    { duration: 4, resolution: '720p', generate_audio: undefined }
  ])
})

t.test('xAI: sends a last frame to the model that takes one', async t => {
  const [job] = await submitted(t, xai, /generations$/, [{ model: 'grok-imagine-video-1.5', firstFrame: image, lastFrame: image, audio: false }])
  t.match(job?.body, { image, last_frame: image, generate_audio: false })
})

t.test('fal: polls the app, and does not end a job whose result fails to load', async t => {
  const { server, provider } = await connect(t, fal)
  const { handle } = await provider.submit(taskFor(fal), signal())
  t.equal(handle, 'fal-ai/bytedance/requests/job-1')
  server.set('succeeded')
  server.script('result', reply({ status: 500, body: { detail: 'Internal error' } }))
  t.match(await failureOf(provider.poll(handle, signal())), { kind: 'bad_reply' })
  const died = { status: 'COMPLETED', error: 'Runner died.', error_type: 'runner_disconnected' }
  server.script('poll', reply({ body: died }))
  t.match(await provider.poll(handle, signal()), { state: 'failed', error: { message: 'Runner died.' } })
  t.match(await provider.poll(handle, signal()), { state: 'succeeded' })
})

t.test('MiniMax: recognizes legacy errors with status 200', async t => {
  const { server, provider } = await connect(t, minimax)
  const answer = (code: number) =>
    reply({ body: { task_id: '', base_resp: { status_code: code, status_msg: 'Said so.' } } })
  for (const [code, kind] of Object.entries({ 1026: 'moderated', 1008: 'quota', 1002: 'rate', 1004: 'auth' })) {
    server.script('submit', answer(Number(code)))
    t.match(await failureOf(provider.submit(taskFor(minimax), signal())), { kind, sent: 'yes', message: 'Said so.' })
  }
})

t.test('fails a completed job without a video, and keeps polling in an unknown state', async t => {
  const { server, provider } = await connect(t, runway)
  const { handle } = await provider.submit(taskFor(runway), signal())
  server.script('poll', reply({ body: { status: 'SUCCEEDED', output: [] } }))
  t.match(await provider.poll(handle, signal()), { state: 'failed', error: { kind: 'bad_reply' } })
  server.script('poll', reply({ body: { status: 'SUCCEEDED', output: ['file:///etc/passwd', 7] } }))
  t.match(await provider.poll(handle, signal()), { state: 'failed' })
  server.script('poll', reply({ body: { status: 'POLISHING' } }))
  t.match(await provider.poll(handle, signal()), { state: 'running', progress: null })
  server.script('poll', reply({ body: { progress: 1 } }))
  t.match(await failureOf(provider.poll(handle, signal())), { kind: 'bad_reply' })
})

t.test('rejects a job id that is a path traversal', async t => {
  const { server, provider } = await connect(t, runway)
  for (const id of ['..', '.', '../../operations/admin', '', 'a//b']) {
    server.script('submit', reply({ body: { id } }))
    t.match(await failureOf(provider.submit(taskFor(runway), signal())), { kind: 'bad_reply', sent: 'maybe' }, id)
  }
})

t.test('says why a job failed, without the key', async t => {
  const fetched = 'Cannot fetch the image with key_secret.'
  const { server, provider } = await connect(t, runway)
  const { handle } = await provider.submit(taskFor(runway), signal())
  server.script('poll', reply({ body: { status: 'FAILED', failure: fetched, failureCode: 'ASSET.INVALID' } }))
  t.match(await provider.poll(handle, signal()),
    { state: 'failed', error: { kind: 'bad_request', message: 'Cannot fetch the image with ***.' } })
})

t.test('fal: an invalid input is the request\'s fault, a failure behind it is not', async t => {
  const { server, provider } = await connect(t, fal)
  const { handle } = await provider.submit(taskFor(fal), signal())
  server.set('succeeded')
  const kinds = {
    image_too_small: 'bad_request', value_error: 'bad_request', downstream_service_error: 'bad_reply', no_media_generated: 'bad_reply'
  }
  for (const [type, kind] of Object.entries(kinds)) {
    const detail = [{ loc: ['body', 'image_url'], msg: 'Minimum is 300x300.', type }]
    server.script('result', reply({ status: 422, body: { detail } }))
    t.match(await provider.poll(handle, signal()), { state: 'failed', error: { kind, message: 'Minimum is 300x300.' } }, type)
  }
})

t.test('Veo: reads the numeric codes of an operation', async t => {
  const { server, provider } = await connect(t, veo)
  const { handle } = await provider.submit(taskFor(veo), signal())
  const failures = [
    [3, 'It violates our usage guidelines.', 'moderated'], [3, 'Bad duration.', 'bad_request'], [8, 'Too many.', 'rate'],
    [13, 'It broke.', 'bad_reply'], [14, 'Try later.', 'overloaded']
  ] as const
  for (const [code, message, kind] of failures) {
    server.script('poll', reply({ body: { name: 'x', done: true, error: { code, message } } }))
    t.match(await provider.poll(handle, signal()), { state: 'failed', error: { kind, message } })
  }
})

t.test('Seedance: a task that was canceled has ended', async t => {
  const { server, provider } = await connect(t, seedance)
  const { handle } = await provider.submit(taskFor(seedance), signal())
  server.script('poll', reply({ body: { id: 'x', status: 'canceled' } }))
  t.match(await provider.poll(handle, signal()), { state: 'cancelled' })
})
