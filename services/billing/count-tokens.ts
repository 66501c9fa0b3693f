import { typicalTokens } from './token-guess.ts'

/** Text is counted in parts, because the time for a single word grows with the square of its length. */
const partLength = 512
/** Most parts that are counted; of a longer text, as many from all over it. They take a few milliseconds. */
const maxParts = 32

/** The tokens of a text by OpenAI's encoding o200k, which is close enough for other models. */
export async function countTokens (text: string): Promise<number> {
  if (text === '') return 0
  const count = await tokenizer()
  const parts = Math.ceil(text.length / partLength)
  const step = Math.max(1, parts / maxParts)
  let tokens = 0
  let countedLength = 0
  for (let part = 0; part < parts; part += step) {
    const at = Math.floor(part) * partLength
    const counted = text.slice(at, at + partLength)
    tokens += count(counted)
    countedLength += counted.length
  }
  return Math.ceil(tokens * text.length / countedLength)
}

/** Loaded when first needed: its tables take 0.1 s, and most gateways never estimate. */
async function tokenizer (): Promise<(text: string) => number> {
  try {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    // What looks like a control token is only text here.
    return text => countTokens(text, { disallowedSpecial: new Set() })
  } catch {
    // It cannot be loaded; a charge by the length is better than none.
    return text => text.length / typicalTokens.bytesPerToken
  }
}
