/** The words of a text or identifier in lower case and singular: `getUserNames` gives get, user, name. */
export function wordsOf (text: string): string[] {
  const spaced = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase()
  return (spaced.match(/\p{L}+/gu) ?? []).map(singular)
}

/** The distinct words of a text without stop words, in their order. */
export function topicWords (text: string): string[] {
  const words = (text.match(/\p{L}[\p{L}\p{N}'’-]*/gu) ?? []).map(word => word.toLowerCase())
  return [...new Set(words)].filter(word => word.length >= 4 && !stopWords.has(singular(word)))
}

/** Truncates a text to a number of code points, with an ellipsis, and collapses white space. */
export function truncate (text: string, maxCharacters: number): string {
  const characters = [...text.slice(0, maxCharacters * 4).replace(/\s+/gu, ' ').trim()]
  if (characters.length <= maxCharacters) return characters.join('')
  return characters.slice(0, maxCharacters - 1).join('').trimEnd() + '…'
}

/** Joins items: `a`, `a and b`, `a, b and c`. */
export function joinList (items: readonly string[]): string {
  if (items.length < 2) return items.join('')
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}

/** English stop words, singular. */
export const stopWords = new Set(`
  a about above after again all also always am an and another any anything are as ask at away be because been before
  being below best between both but by call can can't could current describe did do doe doing don't done each either
  else even ever every everything explain few find first for from further get getting give given go going good great
  had has hasn't have having he hello help helpful her here hey hi him his how i i'd i'll i'm i've if in into is isn't
  it it's just keep kind know last let let's like list little look lot made make many may maybe me mean might more most
  much must my need never new nice no nor not nothing now of off often ok old on once one only or other our out over
  own perhap please put quite rather really return right said same say see set shall she should show since so some
  something soon still such sure take tell than thank that the their them then there these they thing think thi this
  those three through to today together told too try two under until up upon us use used user using very want was way
  we well were what what's when where which while who whom whose why will wish with without won't word would write yes
  yet you you'd you'll you're your yours
`.trim().split(/\s+/))

const singular = (word: string): string => word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word
