import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import type { VideoTask } from '../../../../services/providers/provider-video.ts'
import { fal } from '../../../servers/videos/fal.ts'
import { minimax } from '../../../servers/videos/minimax.ts'
import { runway } from '../../../servers/videos/runway.ts'
import { reply } from '../../../servers/videos/server.ts'
import { wan } from '../../../servers/videos/wan.ts'
import type { FakeVideoApi } from '../../../servers/videos/fake-api.ts'
import { connect, failureOf, signal, taskFor } from './helper.ts'

const image = { url: 'https://a.example/b.png' }
const hd = { width: 1280, height: 720 }

/** Path and body of the submit of each task; accepts any field. */
async function submitted (t: Test, api: FakeVideoApi, path: RegExp, tasks: Partial<VideoTask>[]) {
  const { server, provider } = await connect(t, { ...api, submit: { path, schema: Type.Object({}) } })
  for (const task of tasks) await provider.submit(taskFor(api, task), signal())
  return server.jobs.map(({ path, body }) => ({ path, body }))
}

t.test('Runway: sends pixels, or aspect ratio and resolution, by model', async t => {
  const jobs = await submitted(t, runway, /to_video$/, [
    { model: 'gen4.5' },
    { model: 'gen4.5', aspectRatio: '9:16', seconds: 8 },
    { model: 'veo3.1', aspectRatio: '21:9' },
    { model: 'seedance2' },
    { model: 'seedance2', size: { width: 1112, height: 834 } },
    { model: 'hailuo3', size: { width: 2560, height: 1440 } },
    { model: 'grok_imagine_1_5', size: hd, firstFrame: image }
  ])
  t.match(jobs, [
    { path: '/text_to_video', body: { ratio: '1280:720', duration: 5 } },
    { body: { ratio: '720:1280', duration: 8 } },
    { body: { ratio: '1280:720', duration: undefined } },
    { body: { ratio: undefined, resolution: undefined } },
    { body: { ratio: '1112:834' } },
    { body: { ratio: '16:9', resolution: '2k' } },
    { path: '/image_to_video', body: { ratio: undefined, resolution: '720p', promptImage: [{ position: 'first' }] } }
  ])
})

t.test('Wan: sends size and image up to 2.6, resolution and media later', async t => {
  const jobs = await submitted(t, wan, /video-synthesis$/, [
    { model: 'wan2.6-t2v', size: hd, audio: true },
    { model: 'wan2.6-i2v', size: hd, firstFrame: image },
    { model: 'wan2.7-t2v', size: hd, audio: true },
    { model: 'wan3-preview', size: { width: 854, height: 480 }, firstFrame: image, lastFrame: image, audio: false }
  ])
  const audio = jobs.map(({ body }) => JSON.stringify(body).match(/"audio":\w+/)?.[0])
  t.same(audio, ['"audio":true', undefined, undefined, '"audio":false'])
  t.match(jobs.map(({ body }) => body), [
    { input: { img_url: undefined }, parameters: { size: '1280*720', audio: true, resolution: undefined } },
    { input: { img_url: image.url }, parameters: { size: undefined, resolution: '720P' } },
    { input: { media: undefined }, parameters: { size: undefined, resolution: '720P', ratio: '16:9' } },
    { input: { media: [{ type: 'first_frame' }, { type: 'last_frame' }] }, parameters: { resolution: '480P' } }
  ])
})

t.test('fal: uses the field names of each model', async t => {
  const jobs = await submitted(t, fal, /^\/fal-ai\/|^\/workflows\//, [
    { model: 'fal-ai/veo3.1/image-to-video', seconds: 8 },
    { model: 'fal-ai/kling-video/v2.5-turbo/pro/image-to-video', seconds: 5, firstFrame: image, lastFrame: image },
    { model: 'fal-ai/sora-2/text-to-video', seconds: 4 }
  ])
  t.match(jobs.map(({ body }) => body), [
    { duration: '8s' }, { duration: '5', image_url: image.url, tail_image_url: image.url }, { duration: 4 }
  ])
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
  for (const id of ['..', '.', '../../admin', '', 'a//b']) {
    server.script('submit', reply({ body: { id } }))
    t.match(await failureOf(provider.submit(taskFor(runway), signal())), { kind: 'bad_reply', sent: 'maybe' }, id)
  }
})
