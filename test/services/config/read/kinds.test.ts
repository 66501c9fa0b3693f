import t from 'tap'
import { ConfigError } from '../../../../services/config/config-error.ts'
import { parseConfig } from '../../../../services/config/read/parse.ts'
import { refusedLength } from '../../../../services/providers/video-length.ts'

const base = `environment_providers: false
providers:
  - { id: openai, api_key: x }
  - { id: kling, api_key: x }
  - { id: fal, api_key: x }
  - { id: luma, api_key: x }
  - { id: mine, base_url: "http://a" }
models:
`

function problemsOf (...models: string[]): string[] {
  try {
    parseConfig(base + models.map(model => `  - { ${model} }\n`).join(''), {}, 'gateway.yaml', { refusedLength })
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map(({ path, line, message }) => `${line} ${path}: ${message}`)
  }
}

const kindOf = (model: string) => parseConfig(`${base}  - { ${model} }`, {}).models[0]?.kind

t.test('a kind that the provider has no API for is an error at its line', async t => {
  t.same(problemsOf('id: a, provider: openai, kind: video', 'id: b, provider: kling, kind: image', 'id: c, provider: fal, kind: chat'), [
    '9 models[0].kind: is video, but the provider openai has an API for chat and images only',
    '10 models[1].kind: is image, but the provider kling has an API for videos only',
    '11 models[2].kind: is chat, but the provider fal has an API for images and videos only'
  ])
  t.same(problemsOf('id: a, provider: mine, kind: video', 'id: b, provider: fal, kind: image', 'id: c, provider: openai, kind: image'), [])
})

t.test('without a kind, a provider of media decides by the name', async t => {
  t.equal(kindOf('id: a, provider: fal, model: fal-ai/veo3.1'), 'video')
  t.equal(kindOf('id: a, provider: fal, model: fal-ai/recraft/v4/text-to-image'), 'image')
  t.equal(kindOf('id: a, provider: kling, model: kling-v9'), 'video')
  t.equal(kindOf('id: tts-1, provider: mine'), 'chat', 'the operator knows the servers')
})

t.test('a length that the model does not make is an error at its line', async t => {
  t.same(problemsOf('id: a, provider: luma, model: ray-2, video: { seconds: [5, 7] }'),
    ['9 models[0].video.seconds[1]: is impossible: The model at the provider makes videos of 5, 9 seconds.'])
  t.match(problemsOf('id: a, provider: luma, model: ray-2, video: { default_seconds: 7 }'), [/video\.default_seconds: /])
  t.match(problemsOf('id: a, provider: fal, model: fal-ai/bytedance/seedance/v1/pro/text-to-video, video: { seconds: [99] }'), [/seconds\[0\]/])
  t.same(problemsOf('id: a, provider: kling, model: kling-v3, kind: video, video: { seconds: [5, 10], default_seconds: 5 }'), [])
  t.same(problemsOf('id: a, provider: mine, kind: video, video: { seconds: [99] }'), [])
})
