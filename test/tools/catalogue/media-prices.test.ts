import t from 'tap'
import { readLitellm } from '../../../tools/catalogue/litellm.ts'

/** The rows of a table with these models, by `provider/name`. */
function rowsOf (models: Record<string, object>) {
  const { providers } = readLitellm(JSON.stringify(models), '1', '2026-11-28')
  return Object.fromEntries(Object.entries(providers).flatMap(([id, rows]) => {
    return Object.entries(rows).map(([name, row]) => [`${id}/${name}`, row])
  }))
}

const video = (provider: string, prices: object) => ({ litellm_provider: provider, mode: 'video_generation', ...prices })
const image = (provider: string, prices: object) => ({ litellm_provider: provider, mode: 'image_generation', ...prices })
const dollar = 1_000_000_000

t.test('a size without a price has the base price, at most that of the next larger, and none beyond the largest', async t => {
  const { 'fal/a/b': row } = rowsOf({
    'fal_ai/a/b': video('fal_ai', { output_cost_per_second: 3, output_cost_per_second_720p: 2, output_cost_per_second_1080p: 4 })
  })
  t.same(row?.videoPrices?.map(({ size, secondNano }) => [size, secondNano / dollar]), [
    ['854x480', 2], ['960x540', 2], ['1280x720', 2], ['1366x768', 3], ['1920x1080', 4]
  ])
})

t.test('one price is for any size, and a fee per picture is added for two of them', async t => {
  const prices = { output_cost_per_second: 0.05, input_cost_per_image: 0.002 }
  const rows = rowsOf({ 'xai/v': video('xai', prices), 'runwayml/r': video('runwayml', { output_cost_per_video_per_second: 1.5e-1 }) })
  t.same(rows['xai/v']?.videoPrices, [{ secondNano: 54_000_000 }])
  t.same(rows['runway/r']?.videoPrices, [{ secondNano: 150_000_000 }])
})

t.test('pictures that are free of charge add nothing', async t => {
  const entry = { provider_specific_entry: { minimax_free_input_images: 2 }, input_cost_per_image: 0.04 }
  const rows = rowsOf({ 'minimax/H': video('minimax', { output_cost_per_second: 0.1, ...entry }) })
  t.same(rows['minimax/H']?.videoPrices, [{ secondNano: 100_000_000 }])
})

t.test('prices of one quality and size come first, and the dearest applies to all others', async t => {
  const rows = rowsOf({
    'fal_ai/fal-ai/aura-flow': image('fal_ai', { output_cost_per_image: 0.03 }),
    'fal_ai/low/1024-x-768/fal-ai/aura-flow': image('fal_ai', { output_cost_per_image: 0.01 }),
    'fal_ai/max/3840-x-2160/fal-ai/aura-flow': image('fal_ai', { output_cost_per_image: 0.4 })
  })
  t.same(rows, {
    'fal/fal-ai/aura-flow': {
      ...rows['fal/fal-ai/aura-flow'],
      imagePrices: [
        { size: '1024x768', quality: 'low', imageNano: 10_000_000 },
        { size: '3840x2160', quality: 'max', imageNano: 400_000_000 },
        { imageNano: 400_000_000 }
      ]
    }
  })
})

t.test('models that are billed by megapixel cost as much for each further one', async t => {
  const rows = rowsOf({ 'fal_ai/fal-ai/flux/dev': image('fal_ai', { output_cost_per_image: 0.025, output_cost_per_pixel: 2.4e-8 }) })
  t.same(rows['fal/fal-ai/flux/dev']?.imagePrices, [{ imageNano: 25_000_000, furtherMegapixelNano: 25_000_000 }])
})

t.test('an edit, a model without a price at a provider of media, and one that is priced by the token have no price', async t => {
  const rows = rowsOf({
    'fal_ai/m/edit': image('fal_ai', { output_cost_per_image: 0.03 }),
    'fal_ai/m/x': image('fal_ai', {}),
    'gpt-image': image('openai', { input_cost_per_token: 5e-6, output_cost_per_image: 0.03 })
  })
  t.same(Object.keys(rows), ['openai/gpt-image'])
  t.equal(rows['openai/gpt-image']?.imagePrices, undefined)
})
