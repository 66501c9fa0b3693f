import type { Price } from './types.ts'

/** A price without anything in it, to be filled in. */
export const noPrice: Price = {
  inputPico: null,
  outputPico: null,
  cacheReadPico: null,
  cacheWritePico: null,
  imageNano: null,
  secondNano: null
}
