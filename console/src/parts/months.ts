const offeredMonths = 36

/** The UTC month a number of months before the current one, e.g. `2026-11`. */
export function monthAgo (months: number): string {
  const today = new Date()
  return new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - months)).toISOString().slice(0, 7)
}

/** The latest months with their names, newest first; a chosen one that is not among them comes before. */
export function monthChoices (chosen = ''): (readonly [month: string, name: string])[] {
  const months = Array.from({ length: offeredMonths }, (_, ago) => monthAgo(ago))
  const offered = chosen === '' || months.includes(chosen) ? months : [chosen, ...months]
  return offered.map(month => [month, monthName(month)])
}

const inWords = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' })

/** A month in words, e.g. `Nov 2026`; text that is no month is returned unchanged. */
function monthName (month: string): string {
  const at = new Date(`${month}-01`)
  return Number.isNaN(at.getTime()) ? month : inWords.format(at)
}
