import t from 'tap'
import { ImageGenerationRequest, ImagesResponse } from '../../../schemas/openai/images-generations.ts'
import { compile, compileOpenAi } from '../validators.ts'

const accepts = compile(ImageGenerationRequest)
const openAiAccepts = compileOpenAi('CreateImageRequest')

const request = (patch: Record<string, unknown>) => ({ model: 'gpt-image-1.5', prompt: 'A fox', ...patch })

const nullable = [
  'n', 'size', 'quality', 'response_format', 'output_format', 'output_compression', 'background', 'moderation', 'style',
  'stream', 'partial_images'
]

const accepted = [
  {}, ...nullable.map(field => ({ [field]: null })), { n: 1 }, { n: 10 }, { size: 'auto' }, { size: '3840x2160' },
  { quality: 'hd' }, { quality: 'high' }, { response_format: 'b64_json' }, { output_format: 'webp' },
  { output_compression: 0 }, { background: 'transparent' }, { moderation: 'low' }, { style: 'natural' },
  { stream: true, partial_images: 3 }, { user: 'u' }, { seed: 7 }
]

const refused = [
  { prompt: undefined }, { prompt: null }, { prompt: ['a'] }, { n: 0 }, { n: 11 }, { n: 1.5 }, { n: '2' }, { size: 1024 },
  { quality: 'best' }, { response_format: 'json' }, { output_format: 'gif' }, { output_compression: 1.5 },
  { background: 'red' }, { moderation: 'off' }, { style: 'cubist' }, { stream: 'yes' }, { partial_images: 4 },
  { user: null }
]

t.test('requests for images are accepted and refused as the specification says', async t => {
  for (const patch of accepted) {
    t.ok(openAiAccepts(request(patch)), `specification accepts ${JSON.stringify(patch)}`)
    t.ok(accepts(request(patch)), `gateway accepts ${JSON.stringify(patch)}`)
  }
  for (const patch of refused) {
    t.notOk(openAiAccepts(request(patch)), `specification refuses ${JSON.stringify(patch)}`)
    t.notOk(accepts(request(patch)), `gateway refuses ${JSON.stringify(patch)}`)
  }
})

t.test('a model must be named, a prompt must say something, and be no longer than the longest known', async t => {
  t.notOk(accepts(request({ model: undefined })))
  t.notOk(accepts(request({ model: null })))
  t.notOk(accepts(request({ prompt: '' })))
  t.ok(accepts(request({ prompt: 'x'.repeat(32_000) })))
  t.notOk(accepts(request({ prompt: 'x'.repeat(32_001) })))
  t.notOk(accepts(request({ output_compression: 101 })))
})

t.test('every answer that the gateway can give follows the specification', async t => {
  const usage = {
    input_tokens: 1,
    output_tokens: 2,
    total_tokens: 3,
    input_tokens_details: { text_tokens: 1, image_tokens: 0 }
  }
  const answer = {
    created: 1_790_000_000,
    data: [{ url: 'https://gateway.example.com/v1/media/1.png?exp=1&sig=a', revised_prompt: 'A fox' }],
    background: 'opaque',
    output_format: 'png',
    size: '1024x1024',
    quality: 'high',
    usage
  }
  t.ok(compile(ImagesResponse)(answer))
  t.ok(compileOpenAi('ImagesResponse')(answer))
})
