/** Parts of the statement of a programming contest, in the languages of most contests. */
const inputs = 'input|входные данные|entrada|eingabe|entrée|输入|輸入|入力|입력'
const outputs = 'output|выходные данные|saída|salida|ausgabe|sortie|输出|輸出|出力|출력'
const constraints = 'constraints?|ограничения|restricciones|restrições|contraintes|beschränkungen|数据范围|提示|限制|制約|제한'
const parts = {
  input: heading(`(?:sample |example )?(?:${inputs})`),
  output: heading(`(?:sample |example |input ?(?:and|/) ?)?(?:${outputs})`),
  limits: new RegExp(`≤|≦|<=|\\\\leq?(?![a-z])|10\\^|${heading(`(?:${constraints})`).source}`, 'imu')
}

/** Matches a line that begins with a pattern, after at most some marks. */
function heading (pattern: string): RegExp {
  return new RegExp(`^[^\\p{L}\\n]{0,6}${pattern}(?!\\p{Script=Latin})`, 'imu')
}

const powers = /10\^\{?(\d{1,2})/g
const limits = /(?:≤|≦|<=|\\leq?) {0,2}\$?(\d[\d,]{3,20})/g
const optimum = /minim|maxim|mínim|máxim|optim|ótim|smallest|largest|shortest|longest|fewest|kleinst|größt|минимал|максимал|наименьш|наибольш|кратчайш|最[小大多少短长長]|최[소대]/iu

/** Larger limits are for answers of a closed form, which are not harder. */
const maxPower = 9
const minSize = 120
/** Rounded from a fit to half of the outcomes on LiveCodeBench; see docs/routing.md. */
const ofOrdinary = { size: 1250, power: 3, difficulty: 1.3 }
const per = { doubling: 1.2, power: 0.2, optimum: 0.7 }
const doublings = { least: -2, most: 2 }

/**
 * Reads how hard a problem of a programming contest is: by the size of its statement, its limits, which rule
 * out simple algorithms, and whether it asks for the best of many solutions.
 * @param size characters, as `sizeOf` counts them
 * @returns the logarithm of a factor on the odds of failure; null if the text is no such problem
 */
export function readContestProblem (text: string, size: number): number | null {
  if (size < minSize || !isContestProblem(text)) return null
  const longer = Math.max(doublings.least, Math.min(doublings.most, Math.log2(size / ofOrdinary.size)))
  return ofOrdinary.difficulty + per.doubling * longer + per.power * (largestPower(text) - ofOrdinary.power) +
    (optimum.test(text) ? per.optimum : 0)
}

function isContestProblem (text: string): boolean {
  return parts.limits.test(text) && parts.input.test(text) && parts.output.test(text)
}

/** The largest power of ten of the limits. */
function largestPower (text: string): number {
  let most = 0
  for (const [, power] of text.matchAll(powers)) most = Math.max(most, Number(power))
  for (const [, limit = ''] of text.matchAll(limits)) most = Math.max(most, Math.log10(Number(limit.replaceAll(',', ''))))
  return Math.min(maxPower, most)
}
