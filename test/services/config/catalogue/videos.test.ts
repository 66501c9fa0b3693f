import { readFileSync } from 'node:fs'
import t from 'tap'
import { knownProviders } from '../../../../schemas/config/known-providers.ts'
import { parseConfig } from '../../../../services/config/read/parse.ts'
import { catalogueModel, catalogueModelNames } from '../../../../services/config/catalogue/models.ts'
import { knownVideo, knownVideoModelNames } from '../../../../services/config/catalogue/videos.ts'

t.test('known video models are found by provider and name only', async t => {
  t.match(knownVideo('runway', 'veo3.1'), {
    seconds: [4, 6, 8], maxSeconds: 8, aspectRatios: null, audio: true, firstFrame: true, lastFrame: true
  })
  t.equal(knownVideo('runway', 'veo9'), undefined)
  t.equal(knownVideo('runway', 'constructor'), undefined)
  t.equal(knownVideo('constructor', 'name'), undefined)
  t.match(knownVideo('luma', 'ray-2'), { seconds: [5, 9], audio: false })
})

t.test('every row is valid and of a known provider', async t => {
  const { providers } = JSON.parse(readFileSync('services/config/catalogue/videos.json', 'utf8'))
  for (const provider of Object.keys(providers)) {
    t.ok(knownProviders.some(({ id }) => id === provider), provider)
    for (const name of knownVideoModelNames(provider)) {
      const row = knownVideo(provider, name)
      if (row === undefined) return t.fail(name)
      const { seconds, maxSeconds, sizes, aspectRatios, firstFrame, lastFrame } = row
      const shown = `${provider}/${name}`
      t.ok((seconds ?? [1]).every((one, index, all) => one > (all[index - 1] ?? 0)), shown)
      if (maxSeconds !== null) t.equal(maxSeconds, seconds?.at(-1), shown)
      t.ok((sizes ?? []).every(size => /^[1-9]\d{2,3}x[1-9]\d{2,3}$/.test(size)), shown)
      t.ok((aspectRatios ?? []).every(ratio => /^\d{1,2}:\d{1,2}$/.test(ratio)), shown)
      t.ok(firstFrame || !lastFrame, shown)
    }
  }
})

t.test('they are video models, with their prices by the second and by size', async t => {
  t.match(catalogueModel('runway', 'gen4.5'), {
    kind: 'video', price: null, video: { defaultSeconds: 5, prices: [{ size: null, audio: null, secondNano: 120_000_000 }] }
  })
  t.match(catalogueModel('wan', 'wan3.0-video')?.video?.prices.map(({ size, secondNano }) => [size, secondNano]), [
    ['854x480', 50_000_000], ['960x540', 100_000_000], ['1280x720', 100_000_000], ['1366x768', 200_000_000], ['1920x1080', 200_000_000]
  ])
  t.same(catalogueModel('kling', 'kling-v2-6')?.video?.prices, [])
  t.match(catalogueModel('xai', 'grok-imagine-video'), { kind: 'video', contextWindow: 1024, video: { lastFrame: false } })
  t.equal(catalogueModel('mine', 'gen4.5'), undefined)
  t.ok(catalogueModelNames('runway').includes('gen4.5') && !catalogueModelNames('gemini').some(name => name.startsWith('veo')))
  t.equal(catalogueModelNames('xai').filter(name => name === 'grok-imagine-video').length, 1)
  const model = '{ id: film, provider: runway, model: gen4.5, price: { second: 0.1 } }'
  const file = `providers: [{ id: runway, api_key: x }]\nmodels: [${model}]`
  t.match(parseConfig(file, {}).models[0], { kind: 'video', price: { secondNano: 100_000_000 }, video: { prices: [] } },
    'the price of the file is the only one')
  const unpriced = parseConfig(file.replace(', price: { second: 0.1 }', ''), {}).models[0]
  t.match(unpriced?.video?.prices, [{ secondNano: 120_000_000 }])
})
