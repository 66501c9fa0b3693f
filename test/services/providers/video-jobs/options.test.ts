import t from 'tap'
import type { VideoTask } from '../../../../services/providers/provider-video.ts'
import type { FakeVideoApi } from '../../../servers/videos/fake-api.ts'
import { hailuo } from '../../../servers/videos/hailuo.ts'
import { klingO1, klingOmni } from '../../../servers/videos/kling-omni.ts'
import { klingTurbo } from '../../../servers/videos/kling-turbo.ts'
import { kling } from '../../../servers/videos/kling.ts'
import { lumaAgents } from '../../../servers/videos/luma-agents.ts'
import { omni } from '../../../servers/videos/omni.ts'
import { reply } from '../../../servers/videos/server.ts'
import { connect, failureOf, find, signal, taskFor } from './helper.ts'
import { checkStates, mismatch, wireFixture } from './wire.ts'

const first = { url: 'https://images.example/first.png' }
const last = { url: 'https://images.example/last.png' }
const bytes = { bytes: new Uint8Array(Buffer.from('iVBORw0KGgo=', 'base64')), mime: 'image/png' }
const size = (width: number, height: number) => ({ size: { width, height }, isSizeAsked: true })

interface Case {
  api: FakeVideoApi
  /** Schemas of the maker's SDK. */
  types?: string
  /** What is sent for a wish. */
  sent: [wish: Partial<VideoTask>, body: object][]
  /** The parameter that a refusal names, and what of the allowed values. */
  refused: [wish: Partial<VideoTask>, param: string, says: RegExp][]
}

const cases: Case[] = [
  {
    api: lumaAgents,
    types: 'luma-agents',
    sent: [
      [{}, { model: 'ray-3.2', type: 'video', prompt: 'A cat walks.', video: { resolution: '720p', duration: '5s' } }],
      [{ seconds: 10, aspectRatio: '1:1', size: { width: 1440, height: 1440 } },
        { aspect_ratio: '1:1', video: { resolution: '1080p', duration: '10s' } }],
      [{ firstFrame: first, lastFrame: last }, { video: { start_frame: first, end_frame: last } }]
    ],
    refused: [
      [{ seconds: 7 }, 'video.seconds', /5, 10 seconds/],
      [{ seconds: 10, firstFrame: first }, 'video.seconds', /of 5 seconds/],
      [{ firstFrame: first, aspectRatio: '9:16' }, 'video.aspect_ratio', /first frame/],
      [size(3840, 2160), 'video.size', /360p, 540p, 720p, 1080p/],
      [{ aspectRatio: '9:21' }, 'video.aspect_ratio', /21:9/],
      [{ prompt: '', firstFrame: first }, 'messages', /needs a prompt/]
    ]
  },
  {
    api: hailuo,
    sent: [
      [{}, { model: 'MiniMax-Hailuo-2.3', prompt: 'A cat walks.', resolution: '768P', duration: 6 }],
      [{ seconds: 10, firstFrame: first }, { first_frame_image: first.url, duration: 10 }],
      [size(1920, 1080), { resolution: '1080P', duration: 6 }],
      [{ model: 'MiniMax-Hailuo-02', firstFrame: first, lastFrame: last }, { last_frame_image: last.url }],
      [{ model: 'MiniMax-Hailuo-2.3-Fast', firstFrame: first }, { model: 'MiniMax-Hailuo-2.3-Fast' }]
    ],
    refused: [
      [{ seconds: 5 }, 'video.seconds', /6, 10 seconds/],
      [{ ...size(1920, 1080), seconds: 10 }, 'video.seconds', /of 6 seconds/],
      [size(3840, 2160), 'video.size', /768P, 1080P/],
      [{ aspectRatio: '9:16' }, 'video.aspect_ratio', /16:9/],
      [{ aspectRatio: '9:16', firstFrame: first }, 'video.aspect_ratio', /first frame/],
      [{ firstFrame: first, lastFrame: last }, 'messages', /no last frame/],
      [{ model: 'MiniMax-Hailuo-02', lastFrame: last }, 'messages', /needs a first frame/],
      [{ model: 'MiniMax-Hailuo-2.3-Fast' }, 'messages', /needs a first frame/]
    ]
  },
  {
    api: omni,
    types: 'gemini-omni',
    sent: [
      [{}, {
        background: true,
        input: [{ type: 'text', text: 'A cat walks.' }],
        response_format: { type: 'video', delivery: 'uri', duration: '8s', resolution: '720p' },
        generation_config: { video_config: { task: 'text_to_video' } }
      }],
      [{ ...size(2160, 3840), seconds: 3 }, {
        response_format: { resolution: '4k', duration: '3s', aspect_ratio: '9:16' }
      }],
      [{ model: 'gemini-omni-1.2-flash', seconds: 15 }, { response_format: { duration: '15s' } }],
      [{ firstFrame: bytes }, {
        input: [{ type: 'image', data: 'iVBORw0KGgo=', mime_type: 'image/png' }, { type: 'text' }],
        generation_config: { video_config: { task: 'image_to_video' } }
      }]
    ],
    refused: [
      [{ seconds: 11 }, 'video.seconds', /3, 4, 5, 6, 7, 8, 9, 10 seconds/],
      [{ model: 'gemini-omni-1.2-flash', seconds: 16 }, 'video.seconds', /14, 15 seconds/],
      [size(960, 540), 'video.size', /360p, 720p, 1080p, 4k/],
      [{ aspectRatio: '1:1' }, 'video.aspect_ratio', /16:9, 9:16/],
      [{ firstFrame: bytes, lastFrame: bytes }, 'messages', /no last frame/]
    ]
  },
  {
    api: klingOmni,
    sent: [
      [{}, { model_name: 'kling-v3-omni', mode: 'std', duration: '8', sound: 'on', aspect_ratio: '16:9' }],
      [{ ...size(2160, 3840), seconds: 15, audio: false },
        { mode: '4k', duration: '15', sound: 'off', aspect_ratio: '9:16' }],
      [{ firstFrame: first, lastFrame: bytes }, {
        aspect_ratio: undefined,
        image_list: [{ image_url: first.url, type: 'first_frame' }, { image_url: 'iVBORw0KGgo=', type: 'end_frame' }]
      }]
    ],
    refused: [
      [{ seconds: 2 }, 'video.seconds', /3, 4/],
      [{ firstFrame: first, aspectRatio: '1:1' }, 'video.aspect_ratio', /first frame/],
      [{ lastFrame: last }, 'messages', /needs a first frame/],
      [{ prompt: '', firstFrame: first }, 'messages', /needs a prompt/]
    ]
  },
  {
    api: klingO1,
    sent: [[size(1920, 1080), { mode: 'pro', duration: '5', sound: undefined }]],
    refused: [
      [{ seconds: 8 }, 'video.seconds', /5, 10 seconds/],
      [size(3840, 2160), 'video.size', /720p, 1080p/]
    ]
  },
  {
    api: kling,
    sent: [[size(3840, 2160), { model_name: 'kling-v3', mode: '4k', duration: '8' }]],
    refused: [
      [{ seconds: 16 }, 'video.seconds', /14, 15/],
      [{ ...size(3840, 2160), model: 'kling-v2-6' }, 'video.size', /720p, 1080p/]
    ]
  },
  {
    api: klingTurbo,
    sent: [
      [{ seconds: 15 }, { prompt: 'A cat walks.', settings: { resolution: '720p', aspect_ratio: '16:9', duration: 15 } }],
      [{ ...size(1920, 1080), firstFrame: bytes }, {
        contents: [{ type: 'prompt', text: 'A cat walks.' }, { type: 'first_frame', url: 'iVBORw0KGgo=' }],
        settings: { resolution: '1080p', aspect_ratio: undefined },
        options: { external_task_id: 'vid-0001' }
      }]
    ],
    refused: [
      [{ seconds: 16 }, 'video.seconds', /14, 15/],
      [size(3840, 2160), 'video.size', /720p, 1080p/],
      [{ firstFrame: first, lastFrame: last }, 'messages', /no last frame/],
      [{ prompt: '', firstFrame: first }, 'messages', /needs a prompt/]
    ]
  }
]

for (const { api, types, sent, refused } of cases) {
  t.test(`${api.model}: states every option, and refuses what the model does not make`, async t => {
    const { server, provider } = await connect(t, api)
    const { request = {}, answer = {} } = types === undefined ? {} : wireFixture(types)
    for (const [wish, body] of sent) {
      await provider.submit(taskFor(api, wish), signal())
      t.match(server.jobs.at(-1)?.body, body)
      t.equal(mismatch(request, server.jobs.at(-1)?.body), '')
    }
    for (const [wish, param, message] of [...refused, [{ seed: 7 }, 'seed', /no seed/] as const]) {
      const error = await failureOf(provider.submit(taskFor(api, wish), signal()))
      t.match(error, { kind: 'bad_request', sent: 'no', details: { param }, message }, JSON.stringify(wish))
    }
    t.equal(server.jobs.length, sent.length)
    for (const state of api.states) {
      const { body } = api.pollResponse({ id: 'j', state, body: {}, path: '', createdAt: 0 }, 'https://v.example/1.mp4')
      t.equal(mismatch(answer, body), '', state)
    }
  })
}

t.test('every state of the SDK has a meaning', async t => {
  await checkStates(t, lumaAgents, wireFixture('luma-agents').answer ?? {}, {
    queued: 'queued', processing: 'running', completed: 'succeeded', failed: 'failed'
  }, 'state')
  await checkStates(t, omni, wireFixture('gemini-omni').answer ?? {}, {
    queued: 'queued',
    in_progress: 'running',
    idle: 'running',
    completed: 'succeeded',
    failed: 'failed',
    incomplete: 'failed',
    budget_exceeded: 'failed',
    requires_action: 'failed',
    requires_continuation: 'failed',
    cancelled: 'cancelled'
  }, 'status')
})

t.test('Gemini Omni: a video that was made and is not named is no refusal of the prompt', async t => {
  const { server, provider } = await connect(t, omni)
  const { handle } = await provider.submit(taskFor(omni), signal())
  const steps = [{ type: 'model_output', content: [{ type: 'text', text: 'Here it is.' }] }]
  const usage = { output_tokens_by_modality: [{ modality: 'video', tokens: 46_336 }] }
  server.script('poll', reply({ body: { id: 'job-1', status: 'completed', steps, usage } }))
  t.match(await provider.poll(handle, signal()), { state: 'failed', error: { kind: 'bad_reply' } })
})

t.test('Hailuo: a result that cannot be fetched yet is fetched at the next poll; one without an address is lost', async t => {
  const { server, provider } = await connect(t, hailuo)
  const { handle } = await provider.submit(taskFor(hailuo), signal())
  server.set('succeeded')
  server.script('result', reply({ status: 503, body: {} }))
  t.match(await failureOf(provider.poll(handle, signal())), { kind: 'overloaded' })
  t.match(await provider.poll(handle, signal()), { state: 'succeeded' })
  server.script('result', reply({ body: { file: {}, base_resp: { status_code: 0 } } }))
  t.match(await provider.poll(handle, signal()), { state: 'failed', error: { kind: 'bad_reply' } })
})

t.test('Kling 3.0 Turbo: is found by its submit key, and needs an API key', async t => {
  const { server, provider } = await connect(t, klingTurbo, {
    extra: ({ path }, { jobs }) => path.startsWith('/tasks?external_task_ids=')
      ? { body: { code: 0, data: jobs.map(({ id }) => ({ id, status: 'processing' })) } }
      : null
  })
  const task = taskFor(klingTurbo)
  t.equal(await find(provider, task), null)
  const { handle } = await provider.submit(task, signal())
  t.equal(await find(provider, task), handle)
  server.set('running')
  t.match(await provider.poll(handle, signal()), { state: 'running' })

  const pair = await connect(t, klingTurbo, { apiKey: 'access:secret' })
  t.match(await failureOf(pair.provider.submit(task, signal())), { kind: 'auth', sent: 'no', message: /KLING_API_KEY/ })
  t.same(pair.server.requests, [])
})
