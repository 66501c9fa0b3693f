/** Values in a prompt for tool arguments, in the order of the text; each is removed when used. */
export interface PromptValues {
  text: string
  quotes: string[]
  /** Words after a preposition, preferably capitalised: names of places, people or things. */
  names: string[]
  numbers: number[]
  dates: string[]
  emails: string[]
  urls: string[]
}

/** Extracts quotations, names, numbers, ISO dates, e-mail addresses and URLs from a text. */
export function extractValues (text: string): PromptValues {
  const urls = find(text, /https?:\/\/[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}(?::\d{1,5})?(?:\/[\w/?=&#~+.-]{0,500}[\w/])?/g)
  const emails = find(text, /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g)
  const dates = find(text, /\b\d{4}-\d\d-\d\d\b/g).filter(isDate)
  const quotes = find(text, quotation)
  // Neither the year of a date nor the port of a URL counts as a number.
  const rest = without(text, [...urls, ...emails, ...dates])
  const numbers = find(rest, /(?<![\w.])-?\d{1,15}(?:\.\d{1,10})?(?!\w)/g).map(Number)
  return { text, quotes, names: namesIn(without(rest, quotes)), numbers, dates, emails, urls }
}

const quotation = /"([^"]{1,500})"|“([^”]{1,500})”|`([^`]{1,500})`|(?<!\w)'([^']{1,500})'(?!\w)/g
const capitalised = /\b(?:[iI]n|[aA]t|[fF]or|[tT]o|[fF]rom|[nN]ear|[wW]ith)\s+(\p{Lu}[\p{L}'-]{0,40}(?:,?\s\p{Lu}[\p{L}'-]{0,40}){0,3})/gu
const lowerCase = /\b(?:in|at|near|from)\s+(?!the\b|a\b|an\b|my\b|this\b|that\b|it\b)(\p{L}[\p{L}'-]{1,40})/giu

function namesIn (text: string): string[] {
  const names = find(text, capitalised)
  return names.length > 0 ? names : find(text, lowerCase)
}

// The first group that matched, or the whole match of a pattern without groups.
function find (text: string, pattern: RegExp): string[] {
  const found = [...text.matchAll(pattern)].map(([whole, ...groups]) => groups.find(Boolean) ?? whole)
  return [...new Set(found)]
}

const without = (text: string, parts: string[]): string =>
  parts.reduce((rest, part) => rest.replaceAll(part, ' '), text)

function isDate (text: string): boolean {
  const date = new Date(text)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}
