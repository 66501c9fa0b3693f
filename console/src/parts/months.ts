const shownMonths = 36

/** The months in UTC up to the one of `today`, newest first, e.g. `2026-11`. */
export function monthsUntil (today: Date): readonly string[] {
  return Array.from({ length: shownMonths }, (_, ago) =>
    new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - ago)).toISOString().slice(0, 7))
}

const inWords = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' })

/** A month in words, e.g. `Nov 2026`; text that is no month is returned unchanged. */
export function monthName (month: string): string {
  const at = new Date(`${month}-01`)
  return Number.isNaN(at.getTime()) ? month : inWords.format(at)
}
