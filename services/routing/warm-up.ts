import { GatewayError } from '../shared/errors.ts'
import type { Router } from './router.ts'
import type { Question } from './types.ts'
import type { Periodic } from '../shared/timers.ts'
import { periodically } from '../shared/timers.ts'

interface PracticeOptions {
  onError: (error: unknown) => void
  /** How long the start is left alone, and the pause between two decisions, in which requests are served. */
  afterMs?: number
  everyMs?: number
  /** Enough for the compiler to have seen what decisions run through. */
  decisions?: number
}

/**
 * Makes decisions that nobody asked for, so that the first request after a start does not wait until the
 * weights are read and the code is compiled: that takes ten times as long as a decision later. It ends by
 * itself, and with the first failure.
 */
export function practise (
  router: Pick<Router, 'decide'>, { onError, afterMs = 1000, everyMs = 2, decisions = 400 }: PracticeOptions
): Periodic {
  let made = 0
  const practice = periodically(() => made === 0 ? afterMs : everyMs, async () => {
    try {
      router.decide(questionOf(made))
    } catch (error) {
      // No model may qualify for a question; whoever asks it in earnest hears of that.
      if (!(error instanceof GatewayError)) throw error
    }
    made++
    if (made === decisions) practice.stop()
  }, error => {
    practice.stop()
    onError(error)
  })
  return practice
}

const policies = ['auto', 'auto:cost', 'auto:quality', 'auto:speed'] as const
const tasks = [
  'Explain to a friend why',
  'Write a TypeScript function for this, step by step, in under 40 lines:',
  'Prove or disprove the following statement, and show every step.',
  'Translate into French and keep the names:',
  'Which of these is right?\nA. 12\nB. 18\nC. 24\nD. none of them\n',
  'Summarise this in three bullet points, as JSON with the keys "title" and "points".',
  'What does this print?'
] as const
const matters = [
  'the bridge was closed for repairs until the end of the week, so the toll was not collected.',
  '```ts\nconst sum = tolls.filter(({ paid }) => paid).reduce((total, { cents }) => total + cents, 0)\n```',
  'Let $f(x) = \\int_0^x t^2 \\, dt$. Then $f(3) = 9$, and $f$ is convex on $[0, \\infty)$.',
  'A train leaves at 9:40 and covers 120 km in 90 minutes. Another one follows 25 minutes later at 100 km/h.',
  '{"id": 7, "gate": "north", "open": true, "lanes": [1, 2, 5]}'
] as const

/** Of many kinds and lengths, alone and in conversations; the same number gives the same question. */
function questionOf (number: number): Question {
  const task = tasks[number % tasks.length] ?? ''
  const matter = matters[number % matters.length] ?? ''
  const ask = { role: 'user', content: `${task} ${`${matter} `.repeat(1 + (number % 9) ** 2)}` } as const
  const before = [
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content: matter },
    { role: 'assistant', content: 'What would you like to know about it?' }
  ] as const
  return {
    request: {
      model: policies[number % policies.length] ?? 'auto',
      messages: number % 3 === 0 ? [...before, ask] : [ask]
    },
    key: 'practice',
    mayUse: () => true,
    conversation: null,
    candidates: null,
    availableNano: null
  }
}
