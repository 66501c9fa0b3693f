import { GatewayError } from '../shared/errors.ts'
import type { Router } from './router.ts'
import type { RoutingRequest } from './types.ts'
import { periodically, type Periodic } from '../shared/timers.ts'

interface WarmUpOptions {
  onError: (error: unknown) => void
  /** Called after the last decision. */
  onWarm?: () => void
  /** Delay before the first decision: clients may have waited for the start. */
  afterMs?: number
  /** The pause between two decisions, in which requests are served. */
  everyMs?: number
  /** Enough for the JIT to compile the code of a decision. */
  decisions?: number
}

/**
 * Loads the weights and makes decisions on synthetic requests, because a decision before JIT compilation
 * takes ten times as long. Stops after `decisions` of them, or at the first error.
 */
export function warmUpRouter (
  router: Pick<Router, 'decide'>,
  { onError, onWarm = () => {}, afterMs = 5_000, everyMs = 2, decisions = 400 }: WarmUpOptions
): Periodic {
  let made = 0
  const warmUp = periodically(() => made === 0 ? afterMs : everyMs, async () => {
    try {
      router.decide(syntheticRequest(made))
    } catch (error) {
      // A configuration in which no model qualifies is fine until a client sends such a request.
      if (!(error instanceof GatewayError)) throw error
    }
    made++
    if (made < decisions) return
    warmUp.stop()
    onWarm()
  }, error => {
    warmUp.stop()
    onError(error)
  })
  return warmUp
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
const subjects = [
  'the bridge was closed for repairs until the end of the week, so the toll was not collected.',
  '```ts\nconst sum = tolls.filter(({ paid }) => paid).reduce((total, { cents }) => total + cents, 0)\n```',
  'Let $f(x) = \\int_0^x t^2 \\, dt$. Then $f(3) = 9$, and $f$ is convex on $[0, \\infty)$.',
  'A train leaves at 9:40 and covers 120 km in 90 minutes. Another one follows 25 minutes later at 100 km/h.',
  '{"id": 7, "gate": "north", "open": true, "lanes": [1, 2, 5]}'
] as const

/** Requests of many kinds and lengths, with and without earlier messages; deterministic by number. */
function syntheticRequest (number: number): RoutingRequest {
  const task = tasks[number % tasks.length] ?? ''
  const subject = subjects[number % subjects.length] ?? ''
  const message = { role: 'user', content: `${task} ${`${subject} `.repeat(1 + (number % 9) ** 2)}` } as const
  const before = [
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content: subject },
    { role: 'assistant', content: 'What would you like to know about it?' }
  ] as const
  return {
    request: {
      model: policies[number % policies.length] ?? 'auto',
      messages: number % 3 === 0 ? [...before, message] : [message]
    },
    key: 'warm-up',
    mayUse: () => true,
    conversation: null,
    candidates: null,
    availableNano: null
  }
}
