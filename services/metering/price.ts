import type { ModelConfig, Price } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import { assertSafe } from '../money.ts'
import type { Usage } from '../providers/provider.ts'

/** The prices of a model that can be sold by the token, in integer pico-USD. */
export interface TokenPrice {
  inputPico: number
  outputPico: number
  cacheReadPico: number
  cacheWritePico: number
}

const picoPerNano = 1000

/**
 * The prices of a model. A price that is not told is not zero: throws a 400 GatewayError when the model has
 * none. Cached tokens without a price of their own cost as much as others.
 */
export function tokenPriceOf ({ id, price }: Pick<ModelConfig, 'id' | 'price'>): TokenPrice {
  if (price === null || price.inputPico === null || price.outputPico === null) throw notPriced(id)
  return withCachePrices(price, price.inputPico, price.outputPico)
}

function withCachePrices (price: Price, inputPico: number, outputPico: number): TokenPrice {
  return {
    inputPico,
    outputPico,
    cacheReadPico: price.cacheReadPico ?? inputPico,
    cacheWritePico: price.cacheWritePico ?? inputPico
  }
}

/** What a call cost in nano-USD: all its tokens summed up exactly, then rounded up once. */
export function costNano (usage: Usage, price: TokenPrice): number {
  const read = Math.min(usage.cachedRead ?? 0, usage.prompt)
  const written = Math.min(usage.cacheWrite ?? 0, usage.prompt - read)
  const pico = (usage.prompt - read - written) * price.inputPico + read * price.cacheReadPico +
    written * price.cacheWritePico + usage.completion * price.outputPico
  return Math.ceil(assertSafe(pico) / picoPerNano)
}

function notPriced (id: string): GatewayError {
  const message = `The model \`${id}\` has no price on this gateway, so it cannot be used. Its operator can set one; ` +
    'a model that is free has the price 0.'
  return GatewayError.invalidRequest(message, { param: 'model', code: 'model_not_priced' })
}
