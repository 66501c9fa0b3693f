import t from 'tap'
import type { ImageGenerationRequest } from '../../../schemas/openai/images-generations.ts'
import type { ImageAbilities } from '../../../services/config/catalogue/types.ts'
import { unknownImages } from '../../../services/config/catalogue/images.ts'
import { checkRequest } from '../../../services/images/check-request.ts'
import { thrown } from '../../helpers/thrown.ts'

const listed = { ...unknownImages, sizes: ['1024x1024', '1536x1024'], qualities: ['low', 'high'] }
const sizeRange = { min: 256, max: 2048, multipleOf: 16, maxRatio: 3, maxPixels: 2_000_000 }
const free = { ...unknownImages, sizeRange }

function check (patch: Partial<ImageGenerationRequest>, images?: ImageAbilities) {
  return checkRequest({ model: 'm', prompt: 'A fox', ...patch }, { id: 'm', ...(images && { images }) })
}

t.test('a size is one of the list, within the bounds, or left to the provider', async t => {
  t.same(check({ size: '1536x1024' }, listed).size, { width: 1536, height: 1024 })
  t.same(check({ size: '1024x512' }, free).size, { width: 1024, height: 512 })
  t.same(check({ size: '300x20' }, unknownImages).size, { width: 300, height: 20 }, 'nothing is refused on a guess')
  t.same(check({ size: '300x20' }).size, { width: 300, height: 20 })
  for (const size of [undefined, null, 'auto']) t.equal(check({ size }, listed).size, null)
  t.same(check({}, { ...listed, defaultSize: '1024x1024' }).size, { width: 1024, height: 1024 })
})

t.test('any other size is refused, and the refusal lists what there is', async t => {
  const refusal = (size: string, images: ImageAbilities) => thrown(() => check({ size }, images))
  for (const size of ['1024x1025', '1024', 'x', '1024x', '-1x5', '01024x1024', '1024X1024', '9'.repeat(5000)]) {
    t.match(refusal(size, listed), {
      status: 400,
      param: 'size',
      code: 'invalid_value',
      message: /Supported values of `m` are: '1024x1024', '1536x1024', 'auto'\.$/
    })
  }
  for (const size of ['250x250', '1024x1000', '2064x512', '1600x512', '2048x1024']) {
    t.match(refusal(size, free), {
      message: /sides from 256 to 2048, both multiples of 16, at most 3:1, at most 2000000 pixels\.$/
    }, size)
  }
  for (const size of ['16385x1', '1x99999', '16000x16000']) {
    t.match(refusal(size, unknownImages), { status: 400, param: 'size', message: /at most 16384 pixels a side/ })
  }
  t.match(refusal('big', unknownImages), { message: /A size is '<width>x<height>' in pixels, or 'auto'\.$/ })
  t.ok(String(refusal('9'.repeat(5000), listed)).length < 400)
})

t.test('a quality is checked where there is a choice, and left out where there is none', async t => {
  t.equal(check({ quality: 'high' }, listed).quality, 'high')
  t.equal(check({ quality: 'hd' }, unknownImages).quality, 'hd')
  t.same(check({ quality: 'auto' }, listed), { count: 1, size: null, quality: null, dropped: [] })
  t.same(check({ quality: 'high' }, { ...listed, qualities: [] }), { count: 1, size: null, quality: null, dropped: ['quality'] })
  t.match(thrown(() => check({ quality: 'hd' }, listed)), {
    status: 400, param: 'quality', message: "Invalid value: 'hd'. Supported values of `m` are: 'low', 'high', 'auto'."
  })
})

t.test('what cannot be is refused', async t => {
  t.match(thrown(() => check({ stream: true })), { status: 400, param: 'stream' })
  t.match(thrown(() => check({ background: 'transparent', output_format: 'jpeg' })), { status: 400, param: 'background' })
  t.equal(check({ stream: false, n: 7 }).count, 7)
})
