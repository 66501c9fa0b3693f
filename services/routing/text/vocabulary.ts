/**
 * Words that indicate the kind of task, independent of its topic: question words, verbs, connectives and the
 * everyday vocabulary of a field, but no names.
 */
const lexicon = {
  fact: 'who whom whose when where which',
  what: 'what',
  why: 'why explain describe discuss reason because cause causes interpret',
  how: 'how',
  quantity: 'many much total sum average percent number amount altogether count difference mean median ratio rate',
  compose: 'write compose draft story poem essay email letter blog article lyrics speech paragraph post song novel ' +
    'slogan script dialogue tweet caption headline',
  transform: 'translate summarize summarise rewrite paraphrase extract classify convert correct proofread edit ' +
    'shorten simplify categorize label identify summary translation rephrase grammar sentiment',
  code: 'function code python javascript typescript java sql html css class return def import algorithm implement ' +
    'api regex program bug debug compile array string int dict loop print var const assert true false null none ' +
    'elif else for while self lambda struct void public static method variable query database server docker bash ' +
    'linux git react input output stdin stdout append len range',
  math: 'solve equation integral derivative compute calculate evaluate prove theorem probability matrix polynomial ' +
    'triangle angle radius circle root roots vector modulo prime integer integers real positive function graph ' +
    'frac sqrt cdot sum log sin cos tan pi theta leq geq infty divisible remainder perpendicular square cube digits',
  steps: 'each every then after before remaining left twice half times per day days week weeks hour hours minutes ' +
    'first next finally again more rest both together',
  constraints: 'must exactly least without only ensure should cannot within avoid include including limit maximum ' +
    'minimum required requirements note given constraints step',
  negation: 'not except never no neither nor false incorrect cannot wrong isn doesn',
  persona: 'you your act imagine pretend role character assistant expert persona roleplay',
  advice: 'best recommend suggest tips ideas pros cons advice help good better plan improve strategies ways',
  format: 'json table csv markdown bullet format xml yaml list column columns row rows template latex',
  science: 'energy force velocity mass temperature pressure voltage current reaction solution acid molecule atom ' +
    'electron gas heat cell cells protein gene species density wave frequency mol kg cm gravity circuit light',
  society: 'law court contract defendant plaintiff statute government economic market demand price state policy ' +
    'patient disease treatment theory century war political moral rights property company tax cost interest',
  supposition: 'if suppose assume assuming let implies either whether therefore consider would',
  grammar: 'the of a an in to and is are was were that this it for on with as by at from or be have has had',
  comparison: 'than less greater largest smallest most compare contrast between highest lowest bigger smaller likely',
  first: 'i my me we our us am',
  trade: 'dollars dollar cost costs price buys sells sold bought spends earns pay paid money euros cents',
  request: 'find get search book send order schedule show tell give make create set check play call need want',
  passage: 'following text passage according above below statement statements answer question choose select based'
} as const

export const categories = Object.keys(lexicon)
export const categoryCount = categories.length

const tableSize = 4096
const hashes = new Int32Array(tableSize)
const categoryBits = new Int32Array(tableSize)

/** FNV-1a over the character codes of a lower-case word; the reader computes the same incrementally. */
function hashWord (word: string): number {
  let hash = fnvOffset
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), fnvPrime)
  return hash
}

export const fnvOffset = 0x811c9dc5 | 0
export const fnvPrime = 0x01000193

Object.values(lexicon).forEach((list, category) => {
  for (const word of list.split(' ')) {
    const slot = slotOf(hashWord(word))
    hashes[slot] = hashWord(word)
    categoryBits[slot] = (categoryBits[slot] ?? 0) | 1 << category
  }
})

/** The categories of the word with this hash, as a bit set. */
export function categoriesOf (hash: number): number {
  return categoryBits[slotOf(hash)] ?? 0
}

function slotOf (hash: number): number {
  let slot = (hash ^ hash >>> 15) & tableSize - 1
  while (categoryBits[slot] !== 0 && hashes[slot] !== hash) slot = slot + 1 & tableSize - 1
  return slot
}
