import t from 'tap'
import { Type } from '@sinclair/typebox'
import { UpstreamError } from '../../../../services/shared/errors.ts'
import type { VideoState, VideoTask } from '../../../../services/providers/provider-video.ts'
import { reply } from '../../../servers/videos/server.ts'
import type { FakeVideoApi, Job, JobState } from '../../../servers/videos/fake-api.ts'
import { openai } from '../../../servers/videos/openai.ts'
import { openrouter } from '../../../servers/videos/openrouter.ts'
import { seedance } from '../../../servers/videos/seedance.ts'
import { together } from '../../../servers/videos/together.ts'
import { wan } from '../../../servers/videos/wan.ts'
import { xai } from '../../../servers/videos/xai.ts'
import { connect, signal, taskFor } from './helper.ts'
import { checkWire, mismatch, wireFixture, type Form, type WireSchema } from './wire.ts'

const first = { url: 'https://images.example/first.png' }
const last = { url: 'https://images.example/last.png' }
const wide = { width: 1280, height: 720 }
const tall = { width: 720, height: 1280 }

/** Each wish, and what a request that states it contains. */
const wishes = {
  text: [{}, /"A cat walks\."/],
  size: [{ size: wide, isSizeAsked: true }, /1280|720p|16:9/i],
  ratio: [{ size: tall, aspectRatio: '9:16' }, /9:16|720[x*]1280|"width":720,"height":1280/],
  length: [{ seconds: 4 }, /"(seconds|duration)":"?4"?/],
  seed: [{ seed: 7 }, /"seed":7/],
  sound: [{ audio: true }, /./],
  silence: [{ audio: false }, /./],
  picture: [{ firstFrame: first }, /first\.png/],
  'picture, ratio': [{ firstFrame: first, size: tall, aspectRatio: '9:16' }, /first\.png.*9:16|9:16.*first\.png|720[x*]1280|"width":720,/],
  'picture without text': [{ firstFrame: first, prompt: '' }, /first\.png/],
  'two pictures': [{ firstFrame: first, lastFrame: last }, /first\.png.*last\.png/]
} satisfies Record<string, [Partial<VideoTask>, RegExp]>
type Wish = keyof typeof wishes

interface Contract {
  api: FakeVideoApi
  types: string
  /** Where the answer of a poll has the state. */
  status: readonly string[]
  /** What each state of the SDK means. */
  states: Record<string, VideoState['state']>
  /** Models, and the wishes that have no field there. */
  models: Record<string, readonly Wish[]>
  /** Fields that servers with this API add. */
  added?: readonly string[]
}

/** The schema of the requests for a model with pictures as in `form`; null: it takes none such. */
function schemaOf ({ types, models }: Contract, model: string, form: Form): WireSchema | null {
  const { request = {} } = wireFixture(types)
  const refused = models[model] ?? []
  const wish = form === 'text' ? 'text' : form === 'picture' ? 'picture' : 'two pictures'
  if (refused.includes(wish)) return null
  const alternatives: readonly WireSchema[] = request.oneOf ?? [request]
  const [schema = {}] = alternatives.filter(({ properties }) => new RegExp(properties.model.pattern ?? '').test(model))
  return schema
}

const frames = ['picture', 'picture, ratio', 'picture without text', 'two pictures'] as const

const contracts: readonly Contract[] = [
  {
    api: seedance,
    types: 'seedance-videos',
    status: ['status'],
    states: {
      queued: 'queued', running: 'running', succeeded: 'succeeded', failed: 'failed', cancelled: 'cancelled', expired: 'failed'
    },
    models: {
      'dreamina-seedance-2-0-260128': [],
      'dreamina-seedance-2-0-fast-260128': [],
      'seedance-1-5-pro-251215': [],
      'seedance-1-0-pro-250528': [],
      'seedance-1-0-pro-fast-251015': ['two pictures']
    }
  },
  {
    api: wan,
    types: 'wan-videos',
    status: ['output', 'task_status'],
    states: {
      PENDING: 'queued',
      RUNNING: 'running',
      SUSPENDED: 'running',
      SUCCEEDED: 'succeeded',
      FAILED: 'failed',
      CANCELED: 'cancelled',
      UNKNOWN: 'failed'
    },
    models: {
      'wan2.5-t2v-preview': frames,
      'wan2.6-t2v': frames,
      'wan2.6-i2v': ['text', 'ratio', 'picture, ratio', 'two pictures'],
      'wan2.6-i2v-flash': ['text', 'ratio', 'picture, ratio', 'two pictures'],
      'wan2.7-t2v': frames,
      'wan2.7-i2v': ['text', 'ratio', 'picture, ratio'],
      'wan3.0-video': []
    }
  },
  {
    api: xai,
    types: 'xai-videos',
    status: ['status'],
    states: { pending: 'running', done: 'succeeded', failed: 'failed', expired: 'failed' },
    models: { 'grok-imagine-video': ['seed', 'two pictures'], 'grok-imagine-video-1.5': ['seed'] }
  },
  {
    api: together,
    types: 'together-videos',
    status: ['status'],
    states: { in_progress: 'running', completed: 'succeeded', failed: 'failed' },
    models: { 'google/veo-3.0': [] }
  },
  {
    api: openrouter,
    types: 'openrouter-videos',
    status: ['status'],
    states: {
      pending: 'queued',
      in_progress: 'running',
      completed: 'succeeded',
      failed: 'failed',
      cancelled: 'cancelled',
      expired: 'failed'
    },
    models: { 'google/veo-3.1': [] }
  },
  {
    api: openai,
    types: 'openai-videos',
    status: ['status'],
    states: { queued: 'queued', in_progress: 'running', completed: 'succeeded', failed: 'failed' },
    models: { 'sora-2': ['picture without text', 'two pictures'] },
    added: ['seed']
  }
]

for (const { api, types, status, states, models, added = [] } of contracts) {
  const { request = {}, answer = {} } = wireFixture(types)

  t.test(`${types}: every wish is stated in a request of the SDK's types, or refused`, async t => {
    const submit = { ...api.submit, schema: Type.Object({}) }
    const { server, provider } = await connect(t, { ...api, submit })
    for (const [model, refused] of Object.entries(models)) {
      for (const [wish, [asked, shown]] of Object.entries(wishes)) {
        const label = `${model}: ${wish}`
        const before = server.jobs.length
        const needed = model.includes('i2v') && wish !== 'text' ? { firstFrame: first } : {}
        const task = taskFor(api, { model, ...needed, ...asked })
        const failure: unknown = await provider.submit(task, signal()).then(() => null, error => error)
        if (failure !== null) {
          t.ok(refused.includes(wish as Wish), `${label} is refused: ${String(failure)}`)
          t.ok(failure instanceof UpstreamError && failure.kind === 'bad_request' && failure.sent === 'no', label)
          t.equal(server.jobs.length, before)
          continue
        }
        t.notOk(refused.includes(wish as Wish), `${label} is sent`)
        const { body } = server.jobs.at(-1) ?? {}
        const fields = Object.entries(body ?? {}).filter(([name]) => !added.includes(name))
        const known = Object.fromEntries(fields)
        t.equal(mismatch(request, known), '', label)
        t.match(JSON.stringify(body), shown, label)
        t.notMatch(JSON.stringify(body), /"(prompt|text)":""/, label)
      }
    }
  })

  t.test(`${types}: every state of the SDK is known`, async t => {
    const listed: unknown = status.reduce((schema, name) => schema.properties[name], answer).enum
    t.same(Object.keys(states).toSorted(), [listed].flat().toSorted())
    const { server, provider } = await connect(t, api)
    const { handle } = await provider.submit(taskFor(api), signal())
    server.set('succeeded')
    for (const [word, state] of Object.entries(states)) {
      const body = structuredClone(api.pollResponse(jobIn('succeeded'), 'https://videos.example/1.mp4').body)
      const owner = status.slice(0, -1).reduce((value, name) => value[name], Object(body))
      owner[status.at(-1) ?? ''] = word
      server.script('poll', reply({ body }))
      t.match(await provider.poll(handle, signal()), { state }, word)
    }
  })

  t.test(`${types}: the mock answers in the SDK's types`, async t => {
    for (const state of api.states) {
      const { body } = api.pollResponse(jobIn(state), 'https://videos.example/1.mp4')
      t.equal(mismatch(answer, body), '', state)
    }
  })
}

const jobIn = (state: JobState): Job => ({ id: 'job-1', state, body: {}, path: '', createdAt: 0 })

const fields = { seconds: 'duration', seed: 'seed', sound: 'generate_audio', text: 'prompt' }
const wires = [
  { api: seedance, fields: { ...fields, sizes: ['resolution', 'ratio'] } },
  { api: xai, fields: { ...fields, sizes: ['resolution', 'aspect_ratio'] } },
  {
    api: wan,
    fields: {
      seconds: 'parameters.duration',
      seed: 'parameters.seed',
      sound: 'parameters.audio',
      sizes: ['parameters.resolution', 'parameters.ratio'],
      text: 'input.prompt'
    }
  }
]

for (const wire of wires) {
  const contract = contracts.find(({ api }) => api === wire.api)
  if (contract === undefined) throw new Error('no contract')
  t.test(`${contract.types}: every value that the SDK lists can be asked for`, async t => {
    const request = (model: string, form: Form) => schemaOf(contract, model, form)
    await checkWire(t, { ...wire, models: Object.keys(contract.models), request })
  })
}
