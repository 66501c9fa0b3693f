import t from 'tap'
import { thrown } from '../../../helpers/thrown.ts'
import { megapixelsOf, nearestAspectRatio, statedAspectRatio } from '../../../../services/providers/image-api/aspect-ratio.ts'
import { imageFromBase64, imageFromUrl } from '../../../../services/providers/image-api/generated-image.ts'
import { readImageCost, readImageUsage } from '../../../../services/providers/image-api/usage.ts'

t.test('reads token counts with the names for images and for chat', async t => {
  const images = {
    input_tokens: 50,
    output_tokens: 100,
    input_tokens_details: { image_tokens: 40 },
    output_tokens_details: { image_tokens: 90 }
  }
  t.same(readImageUsage(images), { inputText: 10, inputImage: 40, output: 90, outputText: 10 })
  const chat = { prompt_tokens: 5, completion_tokens: 7 }
  t.same(readImageUsage(chat), { inputText: 5, inputImage: 0, output: 7, outputText: 0 })
  t.same(readImageUsage({ input_tokens: 1, output_tokens: 2, input_tokens_details: { image_tokens: 9 } }),
    { inputText: 0, inputImage: 1, output: 2, outputText: 0 }, 'never more than the total')
  for (const usage of [{ input_tokens: 1 }, { output_tokens: 1 }, { input_tokens: 1, output_tokens: 0 }]) {
    t.equal(readImageUsage(usage), null, 'what is not counted would be free')
  }
  for (const usage of [null, [], {}, { input_tokens: -1 }, { output_tokens: '7' }]) t.equal(readImageUsage(usage), null)
})

t.test('reads the cost in USD or in ticks, as nano-USD', async t => {
  t.equal(readImageCost({ cost: 0.04 }), 40_000_000)
  t.equal(readImageCost({ cost_in_usd_ticks: 200_000_001 }), 20_000_001)
  for (const usage of [null, {}, { cost: -1 }, { cost: 1e15 }, { cost: '1' }]) t.equal(readImageCost(usage), null)
})

t.test('picks the nearest aspect ratio', async t => {
  const ratios = ['1:1', '16:9', '9:16']
  t.equal(nearestAspectRatio({ width: 1344, height: 768 }, ratios), '16:9')
  t.equal(nearestAspectRatio({ width: 1000, height: 1100 }, ratios), '1:1')
  t.equal(nearestAspectRatio({ width: 1, height: 1 }, []), undefined)
  t.equal(megapixelsOf({ width: 2048, height: 1024 }), 2)
})

t.test('decodes base64 and data URLs, and keeps other URLs', async t => {
  const bytes = Buffer.from('fox')
  t.same(imageFromBase64(bytes.toString('base64'), 'A'), { bytes, revisedPrompt: 'A' })
  t.same(imageFromUrl(`data:image/png;base64,${bytes.toString('base64')}`, null), { bytes, revisedPrompt: null })
  t.same(imageFromUrl('https://images.example/1.png', null), { url: 'https://images.example/1.png', revisedPrompt: null })
})

t.test('a size that no ratio of a model has is refused, not changed', t => {
  const ratios = ['1:1', '16:9', '9:16']
  t.equal(statedAspectRatio({ width: 1344, height: 768 }, ratios), '16:9')
  for (const size of [{ width: 1000, height: 1100 }, { width: 1536, height: 1024 }]) {
    t.match(thrown(() => statedAspectRatio(size, ratios)), { kind: 'bad_request', sent: 'no', details: { param: 'size' } })
  }
  t.match(thrown(() => statedAspectRatio({ width: 1, height: 1 }, [])), { kind: 'bad_request' })
  t.end()
})
