/** Words that ask for an amount, in the languages of `taskCues`; the second ones also within words. */
const amounts = new Set(('many much far old long tall big fast heavy often total sum average number amount percent percentage cost ' +
  'costs price profit age ages difference distance weight speed change value ratio fraction rate combined calculate score ' +
  'viel viele vielen wieviel wieviele lange weit alt hoch gesamt insgesamt prozent combien total moyenne pourcentage ' +
  'cuánto cuánta cuántos cuántas cuanto cuanta cuantos cuantas quanto quanta quantos quantas quanti quante porcentaje ' +
  'porcentagem percentuale hoeveel totaal ile ilu kaç kadar berapa ngapi nhiêu mấy сколько процент процентов скольким ' +
  'কত কতগুলি কতজন কতগুলো কতটা কতটি ఎన్ని ఎంత ఎంతమంది').split(' '))
const amountsWithin = /多少|几|幾|いくら|いくつ|何[人個本枚円冊匹台年時分日回点]|どれだけ|몇|얼마|كم|כמה|कितन|กี่|เท่าไ|合計|一共|総/u
const numberWords = new Set(('two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty ' +
  'hundred thousand million dozen half quarter third thirds fourth fifth twice thrice double doubles doubled triple triples tripled halves halved ' +
  'zwei drei vier fünf sechs sieben acht neun zehn zwölf zwanzig hundert tausend dutzend hälfte drittel viertel doppelt ' +
  'deux trois quatre cinq sept huit neuf dix douze vingt cent mille douzaine moitié tiers quart double ' +
  'dos tres cuatro cinco seis siete ocho nueve diez doce veinte cien mil docena mitad tercio doble triple ' +
  'dois duas três quatro sete oito nove dez doze vinte cem dúzia metade dobro due tre quattro cinque sei sette otto ' +
  'dieci dodici venti metà doppio twee drie vijf zes zeven negen tien twaalf helft dubbel ' +
  'два две три четыре пять шесть семь восемь девять десять половина половину вдвое втрое двух трёх').split(' '))

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
const ordinary = { size: 220, difficulty: -0.4 }
const perDoubling = 0.6

/**
 * Reads how hard a word problem is, by its size: what else makes it hard for models, many quantities and rare
 * numbers, goes with that.
 * @param size characters, as `sizeOf` counts them
 * @returns the logarithm of a factor on the odds of failure; null if the text is no such problem
 */
export function readWordProblem (text: string, size: number): number | null {
  if (size < sizes.least || size > sizes.most || text.split('\n').length > sizes.lines) return null
  if (formal.test(text) || special.test(text) || otherRequest.test(text)) return null
  if (countQuantities(text) < 2 || !wantsAmount(text)) return null
  return ordinary.difficulty + perDoubling * Math.log2(size / ordinary.size)
}

function wantsAmount (text: string): boolean {
  const mark = Math.max(text.lastIndexOf('?'), text.lastIndexOf('？'), text.lastIndexOf('؟'))
  const end = mark >= text.length - questionChars ? mark : text.length
  const question = text.slice(Math.max(0, end - questionChars)).toLowerCase()
  return amountsWithin.test(question) || wordsOf(question).some(word => amounts.has(word))
}

/** Counts numbers in digits, but for years, and in words. */
function countQuantities (text: string): number {
  const digits = text.match(/\d[\d,.]{0,20}/g) ?? []
  const numbers = digits.filter(number => !year.test(number.replace(/[,.]$/, ''))).length
  const ideographs = text.match(/[两兩二三四五六七八九十百千半]{1,8}/gu)?.length ?? 0
  return numbers + ideographs + wordsOf(text.toLowerCase()).filter(word => numberWords.has(word)).length
}

function wordsOf (text: string): string[] {
  return text.match(/[\p{L}\p{M}]+/gu) ?? []
}
