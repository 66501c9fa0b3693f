import t from 'tap'
import { breakerDefaults } from '../../../services/config/defaults.ts'
import type { DeploymentConfig, ModelConfig } from '../../../services/config/catalogue/types.ts'
import { planImages } from '../../../services/images/plan-images.ts'
import { createDeployments } from '../../../services/models/deployments/deployments.ts'
import type { Provider } from '../../../services/providers/provider.ts'
import { unknownImages } from '../../../services/config/catalogue/images.ts'
import { withoutQuality } from '../../../services/providers/provider-image.ts'
import { thrown } from '../../helpers/thrown.ts'
import { emptyPrice, modelFromCatalogue } from '../../../services/config/catalogue/models.ts'

const images = async () => { throw new Error('Not called here.') }
const maker: Provider = { id: 'maker', images, close: async () => {} }
/** A provider that is never sent a quality. */
const plain: Provider = { ...maker, images: withoutQuality(async () => await images()) }

function place (provider: string, model: string, more: Partial<DeploymentConfig> = {}): DeploymentConfig {
  return { provider, model, weight: 1, priority: 0, ...more }
}

function plan (deployments: DeploymentConfig[], more: Partial<ModelConfig> = {}, size?: string, quality?: 'low' | 'high') {
  const model: ModelConfig = { ...modelFromCatalogue('mine', 'picture'), id: 'picture', kind: 'image', deployments, ...more }
  const request = { model: 'picture', prompt: 'A fox', ...(size && { size }), ...(quality && { quality }) }
  return planImages({ body: request, mayUse: id => id === 'picture', regions: null }, {
    resolve: () => ({ model, deployments }),
    provider: id => id === 'plain' ? { ...plain, id } as never : id === 'chats' ? { ...maker, id, images: undefined } as never : { ...maker, id },
    deployments: createDeployments({ config: () => ({ breaker: breakerDefaults }) })
  })
}

const price = { ...emptyPrice, imageNano: 7 }

t.test('each place has its own abilities and its own price', async t => {
  const { requested: asked } = plan([
    place('bfl', 'flux-2-pro', { price }),
    place('chats', 'picture'),
    place('mine', 'picture')
  ], { price: { ...emptyPrice, imageNano: 9 } }, '2048x2048')
  t.same(asked.map(({ provider, quote }) => [provider.id, quote.maxNano]), [
    ['bfl', 7], ['mine', 9]
  ], 'the place\'s own, the model\'s')
})

t.test('places that cannot make it, or have no price, are passed over', async t => {
  const { requested: asked } = plan([
    place('replicate', 'black-forest-labs/flux-dev', { price }), place('bfl', 'flux-2-pro', { price: null }), place('mine', 'x', { price })
  ], {}, '64x64')
  t.same(asked.map(({ provider }) => provider.id), ['mine'])
  const first = place('replicate', 'black-forest-labs/flux-dev', { price })
  t.match(thrown(() => plan([first, place('bfl', 'flux-2-pro', { price })], {}, '63x64')), { status: 400, param: 'size' })
  t.match(thrown(() => plan([place('mine', 'x')], { price: null })), { code: 'model_not_priced' })
  t.match(thrown(() => plan([place('chats', 'x')], { price })), { status: 404 })
  t.match(thrown(() => plan([place('mine', 'x')], { price, id: 'secret' })), { status: 404 })
  t.match(thrown(() => plan([place('mine', 'x')], { price, kind: 'video' })), { status: 400, message: /makes videos/ })
})

t.test('a quality that changes the price is asked of those only that are sent it', async t => {
  const imagePrice = (quality: string | null, imageNano: number) =>
    ({ size: null, quality, imageNano, furtherMegapixelNano: 0 })
  const abilities = { ...unknownImages, prices: [imagePrice('high', 9), imagePrice(null, 7)] }
  const { requested: asked } = plan([place('plain', 'x'), place('mine', 'x')], { price, images: abilities }, undefined, 'high')
  t.same(asked.map(({ provider, quote }) => [provider.id, quote.maxNano]), [['mine', 9]])
  const refused = () => plan([place('plain', 'x')], { price, images: abilities }, undefined, 'high')
  t.match(thrown(refused), { status: 400, param: 'quality' })
  t.equal(plan([place('plain', 'x')], { price, images: abilities }).requested.length, 1, 'no quality, no difference')
  const flat = plan([place('plain', 'x')], { price, images: unknownImages }, undefined, 'high')
  t.equal(flat.requested.length, 1, 'with one price for all it may be dropped')
})
