import { charKinds, type TextCounts } from '../text/reader.ts'
import { signalNames } from '../text/signals.ts'
import type { Domain } from '../../config/catalogue/types.ts'
import { domains } from './weights.ts'

/** Facts about a conversation beyond the text that is read. */
export interface ConversationFacts {
  /** How many tools are offered. */
  tools: number
  /** User messages so far. */
  turns: number
  /** The last message alone, if the text begins with the one before it; else empty. */
  followUp: string
  /** Estimated tokens of the whole conversation. */
  promptTokens: number
}

/** Weight of each signal for a domain. Set by hand, because the training data covers few of these domains. */
const signalWeights: Partial<Record<typeof domains[number], Record<string, number>>> = {
  code: {
    'words:code': 7,
    'char:curly': 4,
    'char:semicolon': 5,
    'char:underscore': 6,
    'char:backtick': 5,
    indented: 0.5,
    fences: 1.5
  },
  math: {
    'words:math': 6, 'char:dollar': 6, 'char:backslash': 5, 'char:math': 3, numberShare: 1.5, 'words:quantity': 2
  },
  knowledge: {
    'words:fact': 4, 'words:what': 2.5, options: 0.7, 'words:society': 3, 'words:science': 2.5, 'words:why': 1
  },
  extraction: { 'words:transform': 7, 'words:passage': 2, 'words:format': 3 },
  chat: {
    'words:compose': 5, 'words:advice': 4, 'words:persona': 3, 'words:first': 2.5, 'words:request': 1.5
  }
}

const biases: Readonly<Record<typeof domains[number], number>> = {
  code: -0.8,
  math: -0.8,
  tools: -4,
  knowledge: 0.3,
  extraction: -0.8,
  chat: 0.3,
  multilingual: -3,
  long_context: -3
}

const rows = domains.map(domain => Object.entries(signalWeights[domain] ?? {}).map(([name, weight]) => {
  return { at: signalNames.indexOf(name), weight }
}))
const toolsAt = domains.indexOf('tools')
const multilingualAt = domains.indexOf('multilingual')
const longAt = domains.indexOf('long_context')
const foreignAt = charKinds.indexOf('foreign')
const longTokens = 16_000
const sharpness = 1.6

/** Writes the share of each domain into `out`; `raw` are the signals before standardization. */
export function writeDomains (
  raw: Float32Array, { kinds, chars }: TextCounts, facts: ConversationFacts, out: Float32Array
): void {
  for (let domain = 0; domain < domains.length; domain++) {
    let sum = biases[domains[domain] as typeof domains[number]]
    for (const { at, weight } of rows[domain] ?? []) sum += weight * (raw[at] as number)
    out[domain] = sum
  }
  if (facts.tools > 0) out[toolsAt] = (out[toolsAt] as number) + 6
  const foreign = (kinds[foreignAt] as number) / Math.max(1, chars)
  out[multilingualAt] = (out[multilingualAt] as number) + 9 * Math.min(0.7, foreign)
  out[longAt] = (out[longAt] as number) + 2 * Math.log2(1 + facts.promptTokens / longTokens)
  softmax(out)
}

/** Moves the shares of all domains into one, but for those of the language and the length. */
export function setDomain (domain: Domain, out: Float32Array): void {
  const kept = (out[multilingualAt] as number) + (out[longAt] as number)
  for (let at = 0; at < out.length; at++) if (at !== multilingualAt && at !== longAt) out[at] = 0
  out[domains.indexOf(domain)] = 1 - kept
}

function softmax (values: Float32Array): void {
  let max = -Infinity
  for (const value of values) max = Math.max(max, value)
  let sum = 0
  for (let at = 0; at < values.length; at++) {
    values[at] = Math.exp(sharpness * ((values[at] as number) - max))
    sum += values[at] as number
  }
  for (let at = 0; at < values.length; at++) values[at] = (values[at] as number) / sum
}
