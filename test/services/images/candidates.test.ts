import t from 'tap'
import type { DeploymentConfig, ModelConfig } from '../../../services/catalogue/types.ts'
import { UpstreamError } from '../../../services/shared/errors.ts'
import { mayTryElsewhere, planFor } from '../../../services/images/candidates.ts'
import { newModel } from '../../../services/catalogue/new-model.ts'
import type { Provider } from '../../../services/providers/provider.ts'
import { thrown } from '../../thrown.ts'
import { noPrice } from '../../../services/catalogue/no-price.ts'

const maker: Provider = {
  id: 'maker', images: async () => { throw new Error('Not called here.') }, close: async () => {}
}

function place (provider: string, model: string, more: Partial<DeploymentConfig> = {}): DeploymentConfig {
  return { provider, model, weight: 1, priority: 0, ...more }
}

function plan (deployments: DeploymentConfig[], more: Partial<ModelConfig> = {}, size?: string) {
  const model: ModelConfig = { ...newModel('mine', 'picture'), id: 'picture', kind: 'image', deployments, ...more }
  const request = { model: 'picture', prompt: 'A fox', ...(size && { size }) }
  return planFor(request, id => id === 'picture', {
    resolve: () => ({ model, deployments }),
    provider: id => id === 'chats' ? { ...maker, images: undefined } as never : maker
  })
}

const price = { ...noPrice, imageNano: 7 }

t.test('each place has its own abilities and its own price', async t => {
  const { candidates } = plan([
    place('bfl', 'flux-2-pro', { price }),
    place('chats', 'picture'),
    place('mine', 'picture')
  ], { price: { ...noPrice, imageNano: 9 } }, '2048x2048')
  t.same(candidates.map(({ provider, quote }) => [provider, quote.holdNano]), [
    ['bfl', 7], ['mine', 9]
  ], 'the place\'s own, the model\'s')
})

t.test('places that cannot make it, or have no price, are passed over', async t => {
  const { candidates } = plan([
    place('replicate', 'black-forest-labs/flux-dev', { price }), place('bfl', 'flux-2-pro', { price: null }), place('mine', 'x', { price })
  ], {}, '64x64')
  t.same(candidates.map(({ provider }) => provider), ['mine'])
  const first = place('replicate', 'black-forest-labs/flux-dev', { price })
  t.match(thrown(() => plan([first, place('bfl', 'flux-2-pro', { price })], {}, '63x64')), { status: 400, param: 'size' })
  t.match(thrown(() => plan([place('mine', 'x')], { price: null })), { code: 'model_not_priced' })
  t.match(thrown(() => plan([place('chats', 'x')], { price })), { status: 404 })
  t.match(thrown(() => plan([place('mine', 'x')], { price, id: 'secret' })), { status: 404 })
  t.match(thrown(() => plan([place('mine', 'x')], { price, kind: 'video' })), { status: 400, message: /makes videos/ })
})

t.test('only what has certainly made nothing may be tried elsewhere', async t => {
  for (const kind of ['auth', 'quota', 'rate', 'overloaded', 'not_found'] as const) {
    t.ok(mayTryElsewhere(new UpstreamError(kind, 'yes', 'No.')), kind)
  }
  for (const kind of ['bad_request', 'moderated', 'timeout', 'network', 'bad_reply'] as const) {
    t.notOk(mayTryElsewhere(new UpstreamError(kind, 'maybe', 'No.')), kind)
  }
  t.ok(mayTryElsewhere(new UpstreamError('network', 'no', 'No.')))
  t.notOk(mayTryElsewhere(new UpstreamError('aborted', 'no', 'No.')))
  t.notOk(mayTryElsewhere(new Error('A fault of our own')))
})
