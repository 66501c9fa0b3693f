export const minuteMs = 60_000

/** The use of a limit by all nodes in a minute, counted from 1970, and in the previous one. */
export interface Window { minute: number, used: number, previous: number }

/**
 * Returns how much of a limit is left: the use of the previous minute counts in proportion to its overlap
 * with the last 60 seconds. Negative if the limit was exceeded.
 */
export function leftOf (window: Window, limit: number, nowMs: number): number {
  const { used, previous } = window
  return Math.floor(limit - used - previous * (1 - elapsed(window, nowMs)))
}

/** Returns the time in ms until `need` is available, if nothing else is taken. */
export function waitFor (window: Window, limit: number, need: number, nowMs: number): number {
  if (leftOf(window, limit, nowMs) >= need) return 0
  const { minute, used, previous } = window
  const spare = limit - need
  const [startMs, weight] = used <= spare
    ? [minute * minuteMs, (spare - used) / previous]
    : [(minute + 1) * minuteMs, Math.max(0, spare) / used]
  return Math.max(1, Math.ceil(startMs + (1 - Math.min(1, weight)) * minuteMs - nowMs))
}

/** Returns the time in ms until the whole limit is available. */
export function resetOf ({ minute, used, previous }: Window, nowMs: number): number {
  if (used <= 0 && previous <= 0) return 0
  return Math.max(0, (minute + (used > 0 ? 2 : 1)) * minuteMs - nowMs)
}

/** Moves a window to a later minute; an earlier one changes nothing. */
export function rolled (window: Window, minute: number): Window {
  if (minute <= window.minute) return window
  return { minute, used: 0, previous: minute === window.minute + 1 ? window.used : 0 }
}

function elapsed ({ minute }: Window, nowMs: number): number {
  return Math.min(1, Math.max(0, (nowMs - minute * minuteMs) / minuteMs))
}
