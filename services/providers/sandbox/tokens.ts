/**
 * Cuts text into the sandbox's tokens, at most `maxTokens` of them; joined, they give the text back exactly.
 *
 * A token is a space, if there is one, with up to 8 letters of a cased script, up to 2 letters of a script
 * without case, or up to 3 digits; or up to 8 characters of white space; or up to 2 other characters. A
 * surrogate pair is never cut, and the tokens of a text cut after a token are the first tokens of the whole
 * text.
 */
export function splitTokens (text: string, maxTokens = Infinity): string[] {
  const reach = text.slice(0, maxTokens * longestTokenUnits)
  return (reach.match(token) ?? []).slice(0, maxTokens)
}

/**
 * Counts the tokens of a text. Only its beginning is cut into tokens when it is very long; the rest is taken
 * to be as dense, so that the cost of counting does not grow with the request.
 */
export function countTokens (text: string): number {
  if (text.length <= countedUnits) return splitTokens(text).length
  return Math.ceil(splitTokens(text.slice(0, countedUnits)).length * text.length / countedUnits)
}

// Without look-ahead and anchors, or a text cut after a token would be cut differently.
const token = new RegExp([
  ' ?[\\p{Lu}\\p{Ll}\\p{Lt}\\p{Lm}\\p{M}]{1,8}',
  ' ?(?:\\p{Lo}\\p{M}?){1,2}',
  ' ?\\p{N}{1,3}',
  '\\s{1,8}',
  '[^\\s\\p{L}\\p{M}\\p{N}]{1,2}'
].join('|'), 'gu')

// A space and eight letters outside the basic plane.
const longestTokenUnits = 17
const countedUnits = 65_536
