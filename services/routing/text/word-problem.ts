/** Words that ask for an amount, in the languages of `taskCues`; the second ones also within words. */
const amounts = new Set(('many much far old long tall big fast heavy often total sum average number amount percent percentage cost ' +
  'costs price profit age ages difference distance weight speed change value ratio fraction rate combined calculate score ' +
  'viel viele vielen wieviel wieviele lange weit alt hoch gesamt insgesamt prozent combien total moyenne pourcentage ' +
  'cuánto cuánta cuántos cuántas cuanto cuanta cuantos cuantas quanto quanta quantos quantas quanti quante porcentaje ' +
  'porcentagem percentuale hoeveel totaal ile ilu kaç kadar berapa ngapi nhiêu mấy сколько процент процентов скольким ' +
  'কত কতগুলি কতজন কতগুলো কতটা কতটি ఎన్ని ఎంత ఎంతమంది').split(' '))
const amountsWithin = /多少|几|幾|いくら|いくつ|何[人個本枚円冊匹台年時分日回点]|どれだけ|몇|얼마|كم|כמה|कितन|กี่|เท่าไ|合計|一共|総/u
/** Words that may ask for anything. */
const questions = new Set('what which welche welcher welches quel quelle cuál qual quale wat jaki jaka какой какая каков'.split(' '))
const calculations = new Set('calculate find determine compute berechne bestimme calcule calculez calcula calcule encuentra halla trova вычислите найдите'.split(' '))

const numberWords = new Set(('two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty ' +
  'hundred thousand million dozen half quarter third thirds fourth fifth twice thrice double doubles doubled triple triples tripled halves halved ' +
  'zwei drei vier fünf sechs sieben acht neun zehn zwölf zwanzig hundert tausend dutzend hälfte drittel viertel doppelt ' +
  'deux trois quatre cinq sept huit neuf dix douze vingt cent mille douzaine moitié tiers quart double ' +
  'dos tres cuatro cinco seis siete ocho nueve diez doce veinte cien mil docena mitad tercio doble triple ' +
  'dois duas três quatro sete oito nove dez doze vinte cem dúzia metade dobro due tre quattro cinque sei sette otto ' +
  'dieci dodici venti metà doppio twee drie vijf zes zeven negen tien twaalf helft dubbel ' +
  'два две три четыре пять шесть семь восемь девять десять половина половину вдвое втрое двух трёх').split(' '))

/** Words of a rate, which is one more quantity to combine; the second ones also within words. */
const rates = new Set('per each every apiece je pro jeder jede jedes chaque par cada por ogni elk elke każdy każda każde her mỗi каждый каждая каждое каждую'.split(' '))
const ratesWithin = /每|毎|\p{L}\/\p{L}|ずつ|마다|씩|لكل|प्रति|ต่อ/gu

/** Marks of formulas and of code. */
const formal = /[\\^{}_`=]|\d!|\$[^\s$]{1,20}\$/
/** Words of competitions in mathematics, and of sciences, whose problems have another measure. */
const special = new RegExp(`\\b(?:(?:${[
  'ways', 'many orders', 'orderings?', 'arrangements?', 'assortments?', 'distinct', 'combinations?', 'permutations?',
  'handshakes?', 'shakes? hands', 'committees?', 'chance', 'dice', 'integers', 'digits?', 'multiples of', 'primes?',
  'consecutive(?:ly)?', 'equation', 'sequences?', 'interior angles?', 'congruent', 'cubes?', 'calculus', 'diameter', 'radius',
  'circles?', 'polygons?', 'pentagon', 'hexagon', 'sphere', 'lattice', 'coordinates?', 'vertices', 'median',
  'arithmetic mean', 'deviation', 'hypothesis', 'confidence', 'how many different', 'at a minimum', 'liars?',
  '(?:largest|smallest|greatest|least|maximum|minimum|fewest) (?:possible|number)', 'velocity', 'voltage',
  'electrons?', 'photons?', 'protons?', 'molar', 'enzymes?', 'reaction', 'enthalpy', 'alleles?', 'wavelength', 'kinetic',
  'algorithm'
].join('|')})\\b|probabilit|divis[io]|palindrom|polynom|triang|molec|irradiat)`, 'i')
/** At the beginning of a sentence they ask for something else, whatever amounts follow. */
const otherRequest = /(?:^|[.!?。]\s{1,2})\P{L}{0,4}(?:please )?(?:write|create|implement|design|draft|translat|summar|rewrite|explain|describe|prove|show|extract|classif|debug|list|generate|schreib|übersetz|erklär|beweis|écri|tradui|expliqu|escrib|traduc|traduz|explic|escrev|напиши|перевед|объясн|写|翻译|翻訳)/iu
const year = /^(?:1[5-9]|20)\d\d$/
/** Of the question so much is read, back from its mark. */
const questionChars = 160
const sizes = { least: 40, most: 1100, lines: 6 }

/** Rounded from a fit to half of the outcomes on school mathematics; see docs/routing.md. */
const ofOrdinary = { size: 220, quantities: 5, difficulty: -0.4 }
const per = { doubling: 0.6, quantity: 0.3, rareNumbers: 0.2 }

/**
 * Reads how hard a word problem is: by its size, by how many quantities are to be combined, and by numbers
 * that are large, decimal or percentages. Follows Srivatsa and Kochmar, "What Makes Math Word Problems
 * Challenging for LLMs?", 2024.
 * @param size characters, as `sizeOf` counts them
 * @returns the logarithm of a factor on the odds of failure; null if the text is no such problem
 */
export function readWordProblem (text: string, size: number): number | null {
  if (size < sizes.least || size > sizes.most || text.split('\n').length > sizes.lines) return null
  if (formal.test(text) || special.test(text) || otherRequest.test(text)) return null
  const { quantities, areRare } = readQuantities(text)
  if (quantities < 2 || !asksForAmount(text, quantities)) return null
  return ofOrdinary.difficulty + per.doubling * Math.log2(size / ofOrdinary.size) +
    per.quantity * Math.log2((quantities + 1) / (ofOrdinary.quantities + 1)) + (areRare ? per.rareNumbers : 0)
}

/** With three quantities, any question at the end asks for another. */
function asksForAmount (text: string, quantities: number): boolean {
  const mark = Math.max(text.lastIndexOf('?'), text.lastIndexOf('？'), text.lastIndexOf('؟'))
  const isAtEnd = mark >= text.length - questionChars
  const question = text.slice(Math.max(0, (isAtEnd ? mark : text.length) - questionChars)).toLowerCase()
  if (amountsWithin.test(question)) return true
  const words = wordsOf(question)
  const hasAny = (of: Set<string>) => words.some(word => of.has(word))
  if (hasAny(amounts)) return isAtEnd || hasAny(calculations)
  return isAtEnd && quantities >= 3 && hasAny(questions)
}

/** Counts numbers in digits and in words, without years, and rates. */
function readQuantities (text: string): { quantities: number, areRare: boolean } {
  let quantities = 0
  let areRare = /[%٪％]|percent|prozent|pour ?cent|por ?cien|процент/i.test(text)
  for (const number of text.match(/\d[\d,.]{0,20}/g) ?? []) {
    const plain = number.replace(/[,.]$/, '')
    if (year.test(plain)) continue
    quantities++
    areRare ||= plain.length >= 4 || /[.,]\d{1,2}$/.test(plain)
  }
  quantities += text.match(ratesWithin)?.length ?? 0
  quantities += text.match(/[两兩二三四五六七八九十百千半]{1,8}/gu)?.length ?? 0
  for (const word of wordsOf(text.toLowerCase())) if (numberWords.has(word) || rates.has(word)) quantities++
  return { quantities, areRare }
}

function wordsOf (text: string): string[] {
  return text.match(/[\p{L}\p{M}]+/gu) ?? []
}
