/**
 * Splits text into the sandbox's tokens, at most `maxTokens`. Joined, they are the text.
 *
 * A token is an optional space with up to 8 letters of a cased script, up to 2 letters of a caseless script,
 * or up to 3 digits; or up to 8 white-space characters; or up to 2 other characters. Surrogate pairs are
 * never split, and a text cut after a token has the same first tokens.
 */
export function splitTokens (text: string, maxTokens = Infinity): string[] {
  const prefix = text.slice(0, maxTokens * longestTokenUnits)
  return (prefix.match(token) ?? []).slice(0, maxTokens)
}

/**
 * Creates a function that counts the tokens of one text of a request after the other. Beyond 64 KiB of all
 * texts together it extrapolates, to bound the cost.
 */
export function createTokenCounter (): (text: string) => number {
  let countedTokens = 0
  let leftUnits = maxCountedUnits
  return text => {
    const counted = text.slice(0, leftUnits)
    const tokens = splitTokens(counted).length
    countedTokens += tokens
    leftUnits -= counted.length
    if (counted.length === text.length) return tokens
    return tokens + Math.ceil((text.length - counted.length) * countedTokens / maxCountedUnits)
  }
}

/** Counts the tokens of a text, as `createTokenCounter` does. */
export function countSandboxTokens (text: string): number { return createTokenCounter()(text) }

// Without look-ahead and anchors: a prefix of the text must have a prefix of its tokens.
const token = new RegExp([
  ' ?[\\p{Lu}\\p{Ll}\\p{Lt}\\p{Lm}\\p{M}]{1,8}',
  ' ?(?:\\p{Lo}\\p{M}?){1,2}',
  ' ?\\p{N}{1,3}',
  '\\s{1,8}',
  '[^\\s\\p{L}\\p{M}\\p{N}]{1,2}'
].join('|'), 'gu')

// A space and eight surrogate pairs.
const longestTokenUnits = 17
const maxCountedUnits = 65_536
