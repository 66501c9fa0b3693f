import type { JSX } from 'preact'

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const dayOfYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })

/** A time in the viewer's zone; exact and in UTC on hover. */
export function Time ({ at }: { at: string | null }): JSX.Element {
  if (at === null) return <span class='muted'>–</span>
  const date = new Date(at)
  return <time dateTime={date.toISOString()} title={`${date.toISOString().replace('T', ' ').replace('Z', '')} UTC`}>{inWords(date)}</time>
}

function inWords (date: Date): string {
  const now = new Date()
  if (date.toDateString() === now.toDateString()) return clock.format(date)
  const isThisYear = date.getFullYear() === now.getFullYear()
  return isThisYear ? `${day.format(date)}, ${clock.format(date)}` : dayOfYear.format(date)
}

/** A duration to three digits, e.g. `850 ms`, `2.35 s` or `4.2 min`. */
export function duration (ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toPrecision(3)} s`
  return `${(ms / 60_000).toFixed(1)} min`
}

/** A duration, or a dash for null. */
export function Duration ({ ms }: { ms: number | null }): JSX.Element {
  if (ms === null) return <span class='muted'>–</span>
  return <span title={`${ms.toLocaleString('en-US')} ms`}>{duration(ms)}</span>
}
