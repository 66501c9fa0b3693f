import { Type } from '@sinclair/typebox'
import t from 'tap'
import { fal } from '../../../servers/videos/fal.ts'
import { connect, signal, taskFor } from '../video-jobs/helper.ts'
import { checkStates, checkWire, wireFixture, type Form, type WireSchema } from '../video-jobs/wire.ts'

const { source, status = {}, ...endpoints } = wireFixture('fal')
const firsts = ['image_url', 'start_image_url', 'first_frame_url']
const lasts = ['end_image_url', 'tail_image_url', 'last_frame_url']

/** The schema of a model; a model takes some forms only. */
function request (model: string, form: Form): WireSchema | null {
  const schema = endpoints[model]
  if (schema === undefined) return null
  const has = (names: string[]): boolean => names.some(name => schema.properties[name] !== undefined)
  const needs = (names: string[]): boolean => names.some(name => schema.required.includes(name))
  if (form === 'text') return needs(firsts) ? null : schema
  if (form === 'picture') return has(firsts) && !needs(lasts) ? schema : null
  return has(firsts) && has(lasts) ? schema : null
}

for (const sound of ['generate_audio', 'generate_audio_switch', 'audio']) {
  const models = Object.keys(endpoints).filter(name => soundOf(name) === sound)
  t.test(`fal: every wish for every model with ${sound}`, async t => {
    t.ok(models.length > 0)
    await checkWire(t, {
      api: fal,
      models,
      request,
      fields: { seconds: 'duration', seed: 'seed', sound, sizes: ['aspect_ratio', 'resolution'], text: 'prompt' }
    })
  })
}

t.test('fal: every state of its queue', async t => {
  await checkStates(t, fal, status, { IN_QUEUE: 'queued', IN_PROGRESS: 'running', COMPLETED: 'succeeded' }, 'status')
})

t.test('fal: voice control of Kling, which costs extra, is never asked for', async t => {
  const { server, provider } = await connect(t, { ...fal, submit: { path: /./, schema: Type.Object({}) } })
  const model = 'fal-ai/kling-video/v2.6/pro/text-to-video'
  const size = { width: 1920, height: 1080 }
  await provider.submit(taskFor(fal, { model, size, seconds: 5, prompt: '<<<voice_1>>> says: hello' }), signal())
  t.same(server.jobs[0]?.body, { prompt: '<<<voice_1>>> says: hello', duration: '5', generate_audio: true })
})

t.test('fal: a model that the client does not declare has the fields of its family', async t => {
  const { server, provider } = await connect(t, { ...fal, submit: { path: /./, schema: Type.Object({}) } })
  const [firstFrame, lastFrame] = [{ url: 'https://a.example/1.png' }, { url: 'https://a.example/2.png' }]
  const size = { width: 1920, height: 1080 }
  const task = { seconds: 5, size, firstFrame, lastFrame }
  await provider.submit(taskFor(fal, { ...task, model: 'fal-ai/kling-video/v3.5/pro/image-to-video' }), signal())
  await provider.submit(taskFor(fal, { ...task, model: 'fal-ai/veo4/first-last-frame-to-video' }), signal())
  t.match(server.jobs.map(({ body }) => body), [
    { start_image_url: firstFrame.url, end_image_url: lastFrame.url, duration: '5', generate_audio: true },
    { first_frame_url: firstFrame.url, last_frame_url: lastFrame.url, duration: '5s', resolution: '1080p' }
  ])
})

function soundOf (name: string): string {
  const fields = endpoints[name]?.properties ?? {}
  return ['generate_audio_switch', 'audio'].find(field => fields[field] !== undefined) ?? 'generate_audio'
}
