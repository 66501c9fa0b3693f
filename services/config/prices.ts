import { nanoFromUsd } from '../money.ts'
import type { Price } from './config.ts'
import type { YamlDocument } from './yaml-document.ts'
import type { Path } from './yaml-path.ts'

/**
 * The price that stands at a path, read from its digits as written: USD per million tokens becomes pico-USD
 * per token, USD per image or second becomes nano-USD. Reports what these cannot hold.
 */
export function readPrice (document: YamlDocument, path: Path): Price {
  return {
    inputPico: readPico(document, [...path, 'input']),
    outputPico: readPico(document, [...path, 'output']),
    cacheReadPico: readPico(document, [...path, 'cache_read']),
    cacheWritePico: readPico(document, [...path, 'cache_write']),
    imageNano: readNano(document, [...path, 'image']),
    secondNano: readNano(document, [...path, 'second'])
  }
}

/** The USD at a path as integer nano-USD; null when there is none, or when it was reported. */
export function readNano (document: YamlDocument, path: Path): number | null {
  const text = document.exact(path)
  if (text === undefined) return null
  const nano = toNano(text)
  if (nano === null) document.report(path, `must be a decimal number from 0 to ${largestUsd}, with at most 9 decimals`)
  return nano
}

/** USD per million tokens as pico-USD per token: a thousandth of the number of nano-USD. */
function readPico (document: YamlDocument, path: Path): number | null {
  const text = document.exact(path)
  if (text === undefined) return null
  const nano = toNano(text)
  if (nano !== null && nano % 1000 === 0) return nano / 1000
  document.report(path, `must be a decimal number from 0 to ${largestUsd}, with at most 6 decimals`)
  return null
}

const largestUsd = Math.floor(Number.MAX_SAFE_INTEGER / 1e9)

function toNano (usd: string): number | null {
  try {
    const nano = nanoFromUsd(usd)
    return nano < 0 ? null : nano
  } catch (error) {
    // Its message quotes the text, which may have come from the environment, so it is not passed on.
    if (error instanceof RangeError) return null
    throw error
  }
}
