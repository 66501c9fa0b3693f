import { runAttributed, type OnEscaped } from './attribution.ts'

/** A time limit that does not count the time of calls that the hook only waits for. */
export interface HookClock {
  /** Runs `work`, whose time does not count. */
  pausedFor<Result> (work: () => Promise<Result>): Promise<Result>
}

export interface HookLimit {
  timeoutMs: number
  /** Receives what escapes from the hook. */
  onEscaped: OnEscaped
}

/** Thrown for a hook that exceeds its time. */
export class HookTimeout extends Error {}

/**
 * Runs a hook. Rejects with what it throws, or with HookTimeout after its time; a hook that blocks the event
 * loop cannot be ended.
 */
export async function runHook<Result> (
  hook: (clock: HookClock) => Result | PromiseLike<Result>, { timeoutMs, onEscaped }: HookLimit
): Promise<Result> {
  const overdue = Promise.withResolvers<never>()
  let leftMs = timeoutMs
  let since = 0
  let timer: NodeJS.Timeout | undefined
  let isOver = false

  function start (): void {
    if (isOver) return
    since = performance.now()
    timer = setTimeout(() => overdue.reject(new HookTimeout(`took longer than ${timeoutMs} ms`)), Math.max(1, leftMs))
  }
  function stop (): void {
    clearTimeout(timer)
    leftMs -= performance.now() - since
  }
  const clock: HookClock = {
    async pausedFor (work) {
      stop()
      try {
        return await work()
      } finally {
        start()
      }
    }
  }
  start()
  try {
    return await Promise.race([runAttributed(onEscaped, async () => await hook(clock)), overdue.promise])
  } finally {
    isOver = true
    stop()
  }
}
