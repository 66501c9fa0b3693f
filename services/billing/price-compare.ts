import type { Price } from '../config/catalogue/types.ts'
import { highestRates, tokenPriceOf } from './token-price.ts'

/**
 * Whether an input or output token may cost more at `price` than at the most expensive of `others`, for a
 * prompt of at most `promptBound` tokens. A price without token rates is more expensive than any.
 */
export function isMoreExpensive (price: Price, others: readonly Price[], promptBound: number): boolean {
  const rates = ratesOf(price, promptBound)
  const most = { input: 0, output: 0 }
  for (const other of others) {
    const { input, output } = ratesOf(other, promptBound)
    if (Number.isFinite(input)) most.input = Math.max(most.input, input)
    if (Number.isFinite(output)) most.output = Math.max(most.output, output)
  }
  return rates.input > most.input || rates.output > most.output
}

function ratesOf (price: Price, promptBound: number): { input: number, output: number } {
  if (price.inputPico === null || price.outputPico === null) return { input: Infinity, output: Infinity }
  const rates = highestRates(tokenPriceOf({ id: '', price }), promptBound)
  return {
    input: Math.max(rates.inputPico, rates.cacheWritePico, rates.audioInputPico ?? 0),
    output: Math.max(rates.outputPico, rates.audioOutputPico ?? 0)
  }
}
