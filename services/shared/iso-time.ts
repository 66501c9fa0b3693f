const pattern = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/

/**
 * Parses an ISO 8601 time with its zone, or a date, which means midnight UTC. Returns milliseconds since
 * 1970. Throws RangeError for everything else, e.g. February 30.
 */
export function readIsoTime (text: string): number {
  const [, date = ''] = pattern.exec(text) ?? []
  const day = Date.parse(`${date}T00:00Z`)
  const at = Date.parse(text)
  // Date.parse may read February 30 as March 2; formatting the date reveals it.
  if (date === '' || Number.isNaN(day) || Number.isNaN(at) || isoTime(day).slice(0, 10) !== date) {
    const examples = 'a date such as 2026-11-21 or a time such as 2026-11-21T07:30:00Z'
    throw new RangeError(`expected ${examples}, got '${text.slice(0, 80)}'`)
  }
  return at
}

/** Formats milliseconds since 1970 as ISO 8601 in UTC, with milliseconds. */
export function isoTime (at: number): string {
  return new Date(at).toISOString()
}

/** The same for a time that may be null. */
export function isoTimeOrNull (at: number | null): string | null {
  return at === null ? null : isoTime(at)
}
