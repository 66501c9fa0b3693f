import { isMoreExpensive } from '../../billing/price-compare.ts'
import { addressWarnings } from '../../config/address-warnings.ts'
import type { GatewayConfig, ModelConfig, Price } from '../../config/catalogue/types.ts'

type Resolve = (id: string) => { model: ModelConfig } | undefined

/**
 * Probable mistakes of a valid configuration, a sentence each: addresses of providers, prices that sell
 * nothing or lose money, fallbacks that are never called, and keys in the environment without effect.
 */
export function configWarnings (config: GatewayConfig, resolve: Resolve): string[] {
  const { providers, models, requests, ignored = [] } = config
  return [
    ...providers.flatMap(addressWarnings),
    ...models.flatMap(priceWarnings),
    ...requests.allowDearerFallbacks ? [] : models.flatMap(model => fallbackWarnings(model, resolve)),
    ...ignored.map(({ path, message }) => `${path} ${message}; without it, this provider is left out`)
  ]
}

function priceWarnings ({ id, kind, price, cost, deployments }: ModelConfig): string[] {
  const prices = [price, ...deployments.map(deployment => deployment.price)].filter(one => one != null)
  const half = kind === 'chat' ? prices.map(missingHalf).find(name => name !== null) : undefined
  if (half != null) return [`the model ${id} has no price for '${half}', so its requests are refused`]
  const isLoss = prices.some(one => costsMore(cost, one)) ||
    deployments.some(one => costsMore(one.cost, one.price ?? price))
  return isLoss ? [`the model ${id} is sold below its 'cost'`] : []
}

function missingHalf ({ inputPico, outputPico }: Price): 'input' | 'output' | null {
  if (inputPico === null && outputPico !== null) return 'input'
  return outputPico === null && inputPico !== null ? 'output' : null
}

/** Whether tokens cost more than they are sold for; free ones are meant to be. */
function costsMore (cost: Price | null | undefined, price: Price | null | undefined): boolean {
  if (cost == null || price == null) return false
  return isBelow(price.inputPico, cost.inputPico) || isBelow(price.outputPico, cost.outputPico)
}

const isBelow = (price: number | null, cost: number | null): boolean =>
  price !== null && cost !== null && price > 0 && price < cost

function fallbackWarnings (model: ModelConfig, resolve: Resolve): string[] {
  const prices = pricesOf(model)
  if (prices.length === 0) return []
  const never = (model.fallbacks ?? []).filter(id => {
    const others = pricesOf(resolve(id)?.model)
    return others.length > 0 && others.every(price => isMoreExpensive(price, prices, 0))
  })
  return never.map(id => `the fallback ${id} of the model ${model.id} costs more, so it is never called ` +
    'unless requests.allow_dearer_fallbacks is true')
}

function pricesOf (model: ModelConfig | undefined): Price[] {
  const prices = model?.deployments.map(({ price }) => price === undefined ? model.price : price) ?? []
  return prices.filter(price => price !== null)
}
