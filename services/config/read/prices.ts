import { nanoFromUsd } from '../../shared/money.ts'
import type { Price, PriceTier } from '../../catalogue/types.ts'
import type { YamlDocument } from '../yaml/document.ts'
import type { Path } from '../yaml/path.ts'

/**
 * The price that stands at a path, read from its digits as written: USD per million tokens becomes pico-USD
 * per token, USD per image or second becomes nano-USD. What is absent is as in `otherwise`. Reports what
 * these cannot hold.
 */
export function readPrice (document: YamlDocument, path: Path, otherwise: Price | null): Price {
  return {
    inputPico: readPico(document, [...path, 'input']) ?? otherwise?.inputPico ?? null,
    outputPico: readPico(document, [...path, 'output']) ?? otherwise?.outputPico ?? null,
    cacheReadPico: readPico(document, [...path, 'cache_read']) ?? otherwise?.cacheReadPico ?? null,
    cacheWritePico: readPico(document, [...path, 'cache_write']) ?? otherwise?.cacheWritePico ?? null,
    imageNano: readNano(document, [...path, 'image']) ?? otherwise?.imageNano ?? null,
    secondNano: readNano(document, [...path, 'second']) ?? otherwise?.secondNano ?? null,
    ...present({
      audioInputPico: readPico(document, [...path, 'audio_input']) ?? otherwise?.audioInputPico,
      audioOutputPico: readPico(document, [...path, 'audio_output']) ?? otherwise?.audioOutputPico,
      tiers: readTiers(document, path, otherwise)
    })
  }
}

/** The file's own tiers, else those known; but these belong to the known price, not to one of the file's. */
function readTiers (document: YamlDocument, path: Path, otherwise: Price | null): Price['tiers'] {
  const at = [...path, 'tiers']
  if (!document.has(at)) {
    const isOwn = document.has([...path, 'input']) || document.has([...path, 'output'])
    return isOwn ? undefined : otherwise?.tiers
  }
  const tiers: PriceTier[] = []
  for (let index = 0; document.has([...at, index]); index++) {
    const pico = (key: string) => readPico(document, [...at, index, key])
    const aboveTokens = Number(document.exact([...at, index, 'above']))
    const [inputPico, outputPico] = [pico('input'), pico('output')]
    // What is missing or wrong has been reported.
    if (!Number.isSafeInteger(aboveTokens) || inputPico === null || outputPico === null) continue
    const cached = { cacheReadPico: pico('cache_read') ?? undefined, cacheWritePico: pico('cache_write') ?? undefined }
    tiers.push({ aboveTokens, inputPico, outputPico, ...present(cached) })
  }
  return tiers.toSorted((one, other) => one.aboveTokens - other.aboveTokens)
}

/** An object without the keys that have no value. */
function present<Fields extends object> (fields: Fields): Partial<Fields> {
  const kept: Partial<Fields> = { ...fields }
  for (const key in kept) if (kept[key] === undefined || kept[key] === null) delete kept[key]
  return kept
}

/** The USD at a path as integer nano-USD; null when there is none, or when it was reported. */
export function readNano (document: YamlDocument, path: Path): number | null {
  const text = document.exact(path)
  if (text === undefined) return null
  const nano = toNano(text)
  if (nano === null) document.report(path, `must be a decimal number from 0 to ${largestUsd}, with at most 9 decimals`)
  return nano
}

function readPico (document: YamlDocument, path: Path): number | null {
  const text = document.exact(path)
  if (text === undefined) return null
  const pico = picoFromUsdPerMillion(text)
  if (pico === null) {
    document.report(path, `must be a decimal number from 0 to ${largestUsd}, with at most 6 decimals`)
  }
  return pico
}

/**
 * Converts USD per million tokens, as a decimal text, to integer pico-USD per token, which is a thousandth of
 * the number of nano-USD; null when the text is no such amount, or not exactly.
 */
export function picoFromUsdPerMillion (usd: string): number | null {
  const nano = toNano(usd)
  return nano === null || nano % 1000 !== 0 ? null : nano / 1000
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
