import t from 'tap'
import { ConfigError } from '../../../../services/config/config-error.ts'
import { parseConfig } from '../../../../services/config/read/parse.ts'

const providers = 'environment_providers: false\nproviders: [{ id: openai, api_key: x }, { id: mine, base_url: "http://a" }]\n'

function modelOf (fields: string) {
  return parseConfig(`${providers}models: [{ id: picture, kind: image, ${fields} }]`, {}).models[0]
}

const any = { size: null, quality: null }

t.test('abilities and prices of the file are read to the last digit', async t => {
  const model = modelOf(`provider: mine, price: { image: 0.002 }, images: {
    sizes: [1344x768, 1024x1024], qualities: [high],
    size_range: { min: 256, max: 2048, multiple_of: 16, max_ratio: 3 },
    prices: [{ size: 1024x1024, quality: high, image: 0.167 }, { image: "0.000000001", further_megapixel: 0.5 }],
    tokens: 99 }`)
  t.same(model?.images, {
    sizes: ['1344x768', '1024x1024'],
    sizeRange: { min: 256, max: 2048, multipleOf: 16, maxRatio: 3, maxPixels: 2048 * 2048 },
    defaultSize: '1344x768',
    qualities: ['high'],
    prices: [
      { size: '1024x1024', quality: 'high', imageNano: 167_000_000, furtherMegapixelNano: 0 },
      { ...any, imageNano: 1, furtherMegapixelNano: 500_000_000 }
    ],
    tokens: [{ ...any, tokens: 99 }],
    textOutputPico: null
  })
})

t.test('what the file leaves out is as in the catalogue, or not known', async t => {
  t.equal(modelOf('provider: mine, price: { image: 1 }')?.images, undefined)
  t.match(modelOf('provider: openai, model: gpt-image-1.5'), {
    price: { inputPico: 5_000_000, outputPico: 32_000_000 },
    images: { sizes: ['1024x1024', '1536x1024', '1024x1536'], qualities: ['low', 'medium', 'high'] }
  })
  t.match(modelOf('provider: openai, model: gpt-image-1.5, images: { sizes: [1024x1024] }')?.images, {
    sizes: ['1024x1024'], sizeRange: null, qualities: ['low', 'medium', 'high']
  })
})

t.test('the file can set the price of a model without one in the catalogue', async t => {
  const file = (fields: string) => parseConfig(
    `environment_providers: false\nproviders: [{ id: bfl, api_key: x }]\nmodels: [{ id: f, provider: bfl, model: flux-2-pro${fields} }]`, {}).models[0]
  t.match(file(''), { kind: 'image', price: null, images: { prices: [] } })
  t.match(file(', price: { image: 0.05 }'), { price: { imageNano: 50_000_000 }, images: { prices: [], defaultSize: '1024x1024' } })
})

t.test('mistakes are listed with their path', async t => {
  const mistakes = {
    'images: { sizes: [1024] }': /images\.sizes/,
    'images: { sizes: [] }': /images\.sizes/,
    'images: { qualities: [best] }': /images\.qualities/,
    'images: { prices: [{ size: 1x1 }] }': /images\.prices/,
    'images: { prices: [{ image: 0.0000000001 }] }': /9 decimals/,
    'images: { colours: 3 }': /colours/
  }
  for (const [fields, message] of Object.entries(mistakes)) {
    t.throws(() => modelOf(`provider: mine, ${fields}`), ConfigError, fields)
    t.throws(() => modelOf(`provider: mine, ${fields}`), { message }, fields)
  }
})
