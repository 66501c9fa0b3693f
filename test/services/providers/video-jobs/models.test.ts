import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import type { VideoTask } from '../../../../services/providers/provider-video.ts'
import { fal } from '../../../servers/videos/fal.ts'
import { minimax } from '../../../servers/videos/minimax.ts'
import { runway } from '../../../servers/videos/runway.ts'
import { reply } from '../../../servers/videos/server.ts'
import { wan } from '../../../servers/videos/wan.ts'
import type { Wire } from '../../../servers/videos/wire.ts'
import { connect, failureOf, signal, taskFor } from './helper.ts'

const picture = { url: 'https://a.example/b.png' }
const hd = { width: 1280, height: 720 }

/** What is submitted for each task, as path and body, whatever the fields. */
async function submitted (t: Test, wire: Wire, path: RegExp, tasks: Partial<VideoTask>[]) {
  const { server, maker } = await connect(t, { ...wire, submit: { path, schema: Type.Object({}) } })
  for (const task of tasks) await maker.submit(taskFor(wire, task), signal())
  return server.jobs.map(({ path, body }) => ({ path, body }))
}

t.test('Runway: some models take pixels, others a shape and a resolution', async t => {
  const jobs = await submitted(t, runway, /to_video$/, [
    { model: 'gen4.5' },
    { model: 'gen4.5', aspectRatio: '9:16', seconds: 8 },
    { model: 'veo3.1', aspectRatio: '21:9' },
    { model: 'seedance2' },
    { model: 'seedance2', size: { width: 1112, height: 834 } },
    { model: 'hailuo3', size: { width: 2560, height: 1440 } },
    { model: 'grok_imagine_1_5', size: hd, firstFrame: picture }
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

t.test('Wan: up to 2.6 a size and one picture, later a resolution and media', async t => {
  const jobs = await submitted(t, wan, /video-synthesis$/, [
    { model: 'wan2.6-t2v', size: hd, audio: true },
    { model: 'wan2.6-i2v', size: hd, firstFrame: picture },
    { model: 'wan2.7-t2v', size: hd, audio: true },
    { model: 'wan3-preview', size: { width: 854, height: 480 }, firstFrame: picture, lastFrame: picture, audio: false }
  ])
  const audio = jobs.map(({ body }) => JSON.stringify(body).match(/"audio":\w+/)?.[0])
  t.same(audio, ['"audio":true', undefined, undefined, '"audio":false'])
  t.match(jobs.map(({ body }) => body), [
    { input: { img_url: undefined }, parameters: { size: '1280*720', audio: true, resolution: undefined } },
    { input: { img_url: picture.url }, parameters: { size: undefined, resolution: '720P' } },
    { input: { media: undefined }, parameters: { size: undefined, resolution: '720P', ratio: '16:9' } },
    { input: { media: [{ type: 'first_frame' }, { type: 'last_frame' }] }, parameters: { resolution: '480P' } }
  ])
})

t.test('fal: each maker\'s models have their own words', async t => {
  const jobs = await submitted(t, fal, /^\/fal-ai\/|^\/workflows\//, [
    { model: 'fal-ai/veo3.1/image-to-video', seconds: 8 },
    { model: 'fal-ai/kling-video/v2.5-turbo/pro/image-to-video', seconds: 5, firstFrame: picture, lastFrame: picture },
    { model: 'fal-ai/sora-2/text-to-video', seconds: 4 }
  ])
  t.match(jobs.map(({ body }) => body), [
    { duration: '8s' }, { duration: '5', image_url: picture.url, tail_image_url: picture.url }, { duration: 4 }
  ])
})

t.test('fal: a handle leads to the app, and a result that cannot be had yet ends nothing', async t => {
  const { server, maker } = await connect(t, fal)
  const { handle } = await maker.submit(taskFor(fal), signal())
  t.equal(handle, 'fal-ai/bytedance/requests/job-1')
  server.set('succeeded')
  server.script('result', reply({ status: 500, body: { detail: 'Internal error' } }))
  t.match(await failureOf(maker.poll(handle, signal())), { kind: 'bad_reply' })
  const died = { status: 'COMPLETED', error: 'Runner died.', error_type: 'runner_disconnected' }
  server.script('poll', reply({ body: died }))
  t.match(await maker.poll(handle, signal()), { state: 'failed', error: { message: 'Runner died.' } })
  t.match(await maker.poll(handle, signal()), { state: 'succeeded' })
})

t.test('MiniMax: an error of the older form, with status 200, is an error', async t => {
  const { server, maker } = await connect(t, minimax)
  const answer = (code: number) =>
    reply({ body: { task_id: '', base_resp: { status_code: code, status_msg: 'Said so.' } } })
  for (const [code, kind] of Object.entries({ 1026: 'moderated', 1008: 'quota', 1002: 'rate', 1004: 'auth' })) {
    server.script('submit', answer(Number(code)))
    t.match(await failureOf(maker.submit(taskFor(minimax), signal())), { kind, sent: 'yes', message: 'Said so.' })
  }
})

t.test('a finished job without a video has failed; an unknown state goes on', async t => {
  const { server, maker } = await connect(t, runway)
  const { handle } = await maker.submit(taskFor(runway), signal())
  server.script('poll', reply({ body: { status: 'SUCCEEDED', output: [] } }))
  t.match(await maker.poll(handle, signal()), { state: 'failed', error: { kind: 'bad_reply' } })
  server.script('poll', reply({ body: { status: 'SUCCEEDED', output: ['file:///etc/passwd', 7] } }))
  t.match(await maker.poll(handle, signal()), { state: 'failed' })
  server.script('poll', reply({ body: { status: 'POLISHING' } }))
  t.match(await maker.poll(handle, signal()), { state: 'running', progress: null })
  server.script('poll', reply({ body: { progress: 1 } }))
  t.match(await failureOf(maker.poll(handle, signal())), { kind: 'bad_reply' })
})

t.test('a job that names itself a path out of the API is none', async t => {
  const { server, maker } = await connect(t, runway)
  for (const id of ['..', '.', '../../admin', '', 'a//b']) {
    server.script('submit', reply({ body: { id } }))
    t.match(await failureOf(maker.submit(taskFor(runway), signal())), { kind: 'bad_reply', sent: 'maybe' }, id)
  }
})
