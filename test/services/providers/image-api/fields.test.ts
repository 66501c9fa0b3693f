import t from 'tap'
import { onlyFields, withoutFields } from '../../../../services/providers/image-api/fields.ts'

const request = {
  model: 'm',
  prompt: 'A fox',
  n: 2,
  size: '1024x1024',
  seed: 3,
  style: 'vivid',
  num_images: 9,
  output_format: 'webp',
  quality: null
} as const

t.test('passes on all but the fields that are handled, refused or change the price', async t => {
  t.same(withoutFields(request, ['style']), {
    passed: { seed: 3, output_format: 'webp' }, dropped: ['style', 'num_images']
  })
})

t.test('passes on no field that a server may read as one that costs more or runs another model', async t => {
  const risky = { N: 10, Quality: 'hd', Models: ['dear'], numImages: 4, 'max-images': 4, service_tier: 'priority', complexity: 'high', seed: 3 }
  const { passed, dropped } = withoutFields({ model: 'm', prompt: 'A fox', ...risky }, [])
  t.same(passed, { seed: 3 })
  t.same(dropped, ['Quality', 'Models', 'numImages', 'max-images', 'service_tier', 'complexity'])
})

t.test('passes on known fields only, and never reports the ones the gateway emulates', async t => {
  t.same(onlyFields(request, ['seed', 'num_images']), { passed: { seed: 3 }, dropped: ['style', 'num_images'] })
})
