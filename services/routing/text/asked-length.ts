/** Tokens for each unit in which a length is asked, and how to recognise it in several languages. */
const units: readonly (readonly [tokens: number, pattern: string])[] = [
  [1.35, 'words?|wörtern?|worte?n?|mots|palabras|palavras|parole|woorden|słów|kelime\\p{L}*|слов[аo]?|từ|단어'],
  [1.1, '字|文字|글자'],
  [1, 'tokens?'],
  [24, 'sentences?|sätzen?|sätze|phrases|frases|oraciones|frasi|zinnen|предложени\\p{L}+|句'],
  [22, '(?:bullet )?points?|bullets?|items?|stichpunkten?|puntos|punti|пунктов'],
  [12, 'lines?(?: of code)?|zeilen|lignes|líneas|linhas|righe|строк\\p{L}*|行'],
  [110, 'paragraphs?|absätzen?|absätze|paragraphes|párrafos|parágrafos|paragrafi|абзац\\p{L}*|段落?'],
  [520, 'pages?|seiten?|páginas|pagine|страниц\\p{L}*|页|ページ'],
  [0.3, 'characters?|chars|zeichen|caractères|caracteres|caratteri|символ\\p{L}*']
]

const numbers: Readonly<Record<string, number>> = Object.fromEntries([
  'a one ein einem un une', 'two zwei deux dos', 'three drei trois tres', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'
].flatMap((names, at) => names.split(' ').map(name => [name, at + 1])))

const requested = new RegExp(
  `(\\d[\\d.,  ]{0,9}|\\b(?:${Object.keys(numbers).join('|')}))[ -]{0,2}(?:${
    units.map(([, pattern]) => `(${pattern})`).join('|')})(?:(?<=[^\\x00-\\u2e7f])|(?![\\p{L}]))`, 'giu')
/** Before a length that is given and not asked for: "these 300 lines". */
const given = /(?:\b(?:this|these|the following|my|diese[rns]?|ces?|esta?s?)\s+)$/i
const brief = /\b(?:yes or no|one word|single word|only the (?:number|letter|name|answer|result)|ja oder nein|oui ou non|sí o no)\b/i

/** Clients ask for books, but models stop. */
const bounds = { least: 4, most: 32_000 }
const briefTokens = 8
const readChars = { head: 1500, tail: 800 }

/** The tokens of an answer as long as a prompt asks for; null if it does not say. */
export function requestedTokens (text: string): number | null {
  const read = text.length <= readChars.head + readChars.tail
    ? text
    : `${text.slice(0, readChars.head)}\n${text.slice(-readChars.tail)}`
  let most: number | null = null
  for (const match of read.matchAll(requested)) {
    const [, amount = '', ...rest] = match
    const unit = units[rest.findIndex(found => typeof found === 'string' && found !== '')]
    if (unit === undefined || given.test(read.slice(Math.max(0, match.index - 20), match.index))) continue
    const number = numbers[amount.toLowerCase()] ?? Number(amount.replace(/[.,  ]/g, ''))
    if (Number.isFinite(number) && number > 0) most = Math.max(most ?? 0, number * unit[0])
  }
  if (most === null) return brief.test(read) ? briefTokens : null
  return Math.max(bounds.least, Math.min(bounds.most, Math.round(most)))
}
