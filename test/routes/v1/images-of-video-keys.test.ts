import sharp from 'sharp'
import t from 'tap'
import { request } from 'undici'
import { modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
import { picture, startImageServer } from '../../servers/image-server.ts'
import { gatewayAt } from './keyed-gateway.ts'

const images = [
  {
    provider: 'seedance',
    variables: 'ARK',
    model: 'seedream-5-0-pro-260628',
    made: (url: string) => ({ data: [{ url: `${url}/1.png`, size: '2048x2048' }], usage: { generated_images: 1 } })
  },
  {
    provider: 'wan',
    variables: 'DASHSCOPE',
    model: 'qwen-image-3.0',
    made: (url: string) => ({ output: { choices: [{ message: { content: [{ image: `${url}/1.png` }] } }] } })
  }
]

for (const { provider, variables, model, made } of images) {
  t.test(`${model}: each image is a working address, charged once; without a price it is refused`, async t => {
    const png = await picture(8, 8)
    const { url, seen } = await startImageServer(t, ({ method }, url) =>
      method === 'GET' ? { bytes: png } : { json: made(url) })
    const origin = { url, apiKey: 'sk', variables }
    const known = modelFromCatalogue(provider, model)
    const { gateway, post } = await gatewayAt(t, origin, known, { imageNano: 40_000_000 })
    const order = { model: `${provider}/${model}`, prompt: 'A fox', n: 2, size: '1024x1024' }
    const { status, body } = await post('/images/generations', order)
    t.equal(status, 200, JSON.stringify(body))
    t.equal(body.data.length, 2)
    for (const image of body.data) {
      const file = await request(image.url)
      t.match(await sharp(await file.body.arrayBuffer()).metadata(), { format: 'png', width: 1024 })
    }
    t.match(await gateway.app.ledger.balance('default'), { heldNano: 0, spentNano: 80_000_000 })
    t.equal(seen.filter(({ method }) => method === 'POST').length, 2)

    const unpriced = await gatewayAt(t, origin, known, null)
    const refused = await unpriced.post('/images/generations', order)
    t.match(refused, { status: 400, body: { error: { code: 'model_not_priced', message: /USD per image/ } } })
    t.equal(seen.filter(({ method }) => method === 'POST').length, 2)
  })
}
