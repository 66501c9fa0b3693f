import { difficultyCues, taskCues } from './task-cues.ts'
import { readWordProblem } from './word-problem.ts'

/** What a prompt asks for. */
export const tasks = [
  'greet', 'fact', 'translate', 'rewrite', 'extract', 'summarize', 'compose', 'explain', 'analyze', 'calculate',
  'word_problem', 'estimate', 'prove', 'sql', 'code', 'debug', 'refactor', 'design', 'exam', 'agent_step', 'other'
] as const
export type Task = typeof tasks[number]

/** Logarithms of factors on failures; 0 for the kinds that the training data has. */
const difficultyOfTask: Readonly<Record<Task, number>> = {
  greet: -1.5,
  fact: -1.1,
  translate: -0.8,
  rewrite: -0.8,
  extract: -0.8,
  summarize: -0.5,
  compose: -0.3,
  explain: 0,
  analyze: 0.4,
  calculate: -0.5,
  word_problem: 0,
  estimate: 0.4,
  prove: 0.8,
  sql: 0.1,
  code: 0.2,
  debug: 0.6,
  refactor: 0.6,
  design: 0.8,
  exam: 0,
  agent_step: 0.2,
  other: -0.3
}

/** What a prompt asks for, and how hard that is. */
export interface TaskReading {
  task: Task
  /** The logarithm of a factor; 0 is ordinary. */
  difficulty: number
  /** What that is a factor on. The odds of tasks that are alike enough to have an order of their own. */
  factorOn: 'failures' | 'odds'
}

export interface TaskFacts {
  /** Options of a multiple-choice question. */
  options: number
  numbers: number
  sentences: number
  /** Whether tools are on offer. */
  tools: number
  /** The last message alone, if the text begins with the one before it; else empty. */
  followUp: string
}

/** Less than this is no difference: among the prompts of one benchmark, it orders nothing. */
const ordinary = 0.5
/** What is read: the beginning, and the end of a longer text. */
const readChars = { head: 1200, tail: 400 }
/** A greeting is no longer than this. */
const shortChars = 90
/** A question for a fact, too: longer ones describe a problem. */
const factChars = 140
const perCue = { harder: 0.22, easier: -0.2, further: 0.2, length: 0.25 }
/** One call is what most models can do. */
const ofOneCall = -0.7
const bounds = { least: -1.6, most: 1.6, harder: 6, easier: 2, further: 8 }

type Cue = { task: keyof typeof taskCues } | { change: keyof typeof difficultyCues }
const whole = new Map<string, Cue[]>()
/** By their first letters; the longest first, which is the one that counts. */
const beginnings = new Map<string, { beginning: string, cues: Cue[] }[]>()
const firstLetters = 3
const unspaced: [string, Cue][] = []

for (const task of Object.keys(taskCues) as (keyof typeof taskCues)[]) addCues(taskCues[task], { task })
for (const change of ['harder', 'easier', 'further'] as const) addCues(difficultyCues[change], { change })

function addCues (words: string, cue: Cue): void {
  for (const word of words.split(' ')) {
    if (isUnspaced(word)) unspaced.push([word, cue])
    else if (!word.endsWith('*')) whole.set(word, [...whole.get(word) ?? [], cue])
    else addBeginning(word.slice(0, -1), cue)
  }
}

function addBeginning (beginning: string, cue: Cue): void {
  const first = beginning.slice(0, firstLetters)
  const alike = beginnings.get(first) ?? []
  const known = alike.find(one => one.beginning === beginning)
  if (known === undefined) alike.push({ beginning, cues: [cue] })
  else known.cues.push(cue)
  beginnings.set(first, alike.sort((one, other) => other.beginning.length - one.beginning.length))
}

/** Whether a text is in a script without spaces between words, or whose words change at their beginning. */
function isUnspaced (text: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Devanagari}\p{Script=Thai}]/u.test(text)
}

/** Reads what a prompt asks for; linear in the length that is read. */
export function readTask (text: string, facts: TaskFacts): TaskReading {
  const { options, tools, followUp } = facts
  // A follow-up that names no task goes on with the one before.
  const { tasks: ownTasks } = readCues(followUp.toLowerCase())
  const requested = ownTasks.length > 0 ? followUp : text
  if (options >= 3) return { task: 'exam', difficulty: difficultyOfTask.exam, factorOn: 'failures' }
  const problem = tools > 0 ? null : readWordProblem(requested, sizeOf(requested))
  if (problem !== null) return { task: 'word_problem', difficulty: problem, factorOn: 'odds' }
  const read = text.length <= readChars.head + readChars.tail
    ? text
    : `${text.slice(0, readChars.head)} ${text.slice(-readChars.tail)}`
  const found = readCues(read.toLowerCase())
  if (ownTasks.length > 0) found.tasks = ownTasks
  const task = tools > 0 ? 'agent_step' : taskOf(requested, found, facts)
  if (task === 'word_problem') return { task, difficulty: difficultyOfTask.word_problem, factorOn: 'failures' }
  const hardest = Math.max(...[task, ...found.tasks].map(one => difficultyOfTask[one]))
  let difficulty = (difficultyOfTask[task] + hardest) / 2
  difficulty += perCue.harder * Math.min(bounds.harder, found.harder)
  difficulty += perCue.easier * Math.min(bounds.easier, found.easier)
  difficulty += perCue.length * clamp(Math.log2(sizeOf(text) / 120), -1.5, 2)
  const beyond = Math.sign(difficulty) * Math.max(0, Math.abs(difficulty) - ordinary)
  const calls = task === 'agent_step' ? difficultyOfCalls(found, read.match(/[?？؟;；]/g)?.length ?? 0) : 0
  return {
    task,
    difficulty: clamp(beyond + calls, bounds.least, bounds.most),
    factorOn: task === 'agent_step' ? 'odds' : 'failures'
  }
}

/** The more calls a request needs, the harder it is; one is easy, unless the request names a harder task. */
function difficultyOfCalls ({ tasks, further }: FoundCues, marks: number): number {
  const isLookup = tasks.every(one => difficultyOfTask[one] < difficultyOfTask.agent_step)
  const others = Math.min(bounds.further, further + Math.max(0, marks - 1))
  return (isLookup ? ofOneCall : 0) + perCue.further * others
}

interface FoundCues { tasks: Task[], harder: number, easier: number, further: number }

function readCues (text: string): FoundCues {
  const found: FoundCues = { tasks: [], harder: 0, easier: 0, further: 0 }
  const add = (cue: Cue): void => {
    if ('change' in cue) found[cue.change]++
    else found.tasks.push(cue.task)
  }
  for (const word of text.match(/[\p{L}\p{M}\p{N}+#-]+/gu) ?? []) {
    whole.get(word)?.forEach(add)
    const alike = beginnings.get(word.slice(0, firstLetters))
    alike?.find(({ beginning }) => word.startsWith(beginning))?.cues.forEach(add)
  }
  if (!isUnspaced(text)) return found
  const places: { at: number, cue: Cue }[] = []
  for (const [word, cue] of unspaced) {
    const at = text.indexOf(word)
    if (at !== -1) places.push({ at, cue })
  }
  for (const { cue } of places.sort((one, other) => one.at - other.at)) add(cue)
  return found
}

/** The task that is named first, unless the form of the text says otherwise. */
function taskOf (text: string, { tasks }: FoundCues, { numbers, sentences }: TaskFacts): Task {
  if (/\bsql\b/i.test(text) || /\bselect\b[^]{1,200}\bfrom\b/i.test(text)) return 'sql'
  const [first] = tasks.filter(task => task !== 'greet')
  const isProblem = numbers >= 3 && (sentences >= 2 || /[$\\]/.test(text))
  if (isProblem && (first === undefined || first === 'calculate' || first === 'compose')) return 'word_problem'
  if (first !== undefined) return first
  if (tasks.includes('greet') && sizeOf(text) < shortChars) return 'greet'
  return sizeOf(text) < factChars && /[?？؟]\s*$/.test(text) ? 'fact' : 'other'
}

/** Characters, each of a script with syllables or words as characters as several. */
function sizeOf (text: string): number {
  const { length } = text
  if (length > 1000) return length
  let wide = 0
  for (let at = 0; at < length; at++) if (text.charCodeAt(at) >= 0x2e80) wide++
  return length + 2 * wide
}

function clamp (value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value))
}
