/** The length of what is counted, in ms. */
export const minuteMs = 60_000

/** What all nodes have taken of a limit in a minute, counted from 1970, and in the one before. */
export interface Window { minute: number, used: number, previous: number }

/**
 * How much of a limit is left at a time: what was used in the minute before counts for that part of it that
 * the last 60 seconds still reach back to. So there is no moment at which the limit can be used twice.
 * Below zero when more was used than allowed.
 */
export function leftOf (window: Window, limit: number, nowMs: number): number {
  const { used, previous } = window
  return Math.floor(limit - used - previous * (1 - elapsed(window, nowMs)))
}

/** How long until `need` is left, when nothing else is taken meanwhile; ms, 0 when it is left now. */
export function waitFor (window: Window, limit: number, need: number, nowMs: number): number {
  if (leftOf(window, limit, nowMs) >= need) return 0
  const { minute, used, previous } = window
  const spare = limit - need
  const [startMs, weight] = used <= spare
    ? [minute * minuteMs, (spare - used) / previous]
    : [(minute + 1) * minuteMs, Math.max(0, spare) / used]
  return Math.max(1, Math.ceil(startMs + (1 - Math.min(1, weight)) * minuteMs - nowMs))
}

/** How long until all of the limit is left again, in ms. */
export function resetOf ({ minute, used, previous }: Window, nowMs: number): number {
  if (used <= 0 && previous <= 0) return 0
  return Math.max(0, (minute + (used > 0 ? 2 : 1)) * minuteMs - nowMs)
}

/** The window as it is in another minute; a clock that is behind changes nothing. */
export function rolled (window: Window, minute: number): Window {
  if (minute <= window.minute) return window
  return { minute, used: 0, previous: minute === window.minute + 1 ? window.used : 0 }
}

/** From 0 at the beginning of the minute to 1 at its end. */
function elapsed ({ minute }: Window, nowMs: number): number {
  return Math.min(1, Math.max(0, (nowMs - minute * minuteMs) / minuteMs))
}
