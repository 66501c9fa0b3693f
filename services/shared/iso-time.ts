const pattern = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/

/**
 * Reads an ISO 8601 time with its zone, or a date, which stands for its beginning in UTC. Returns
 * milliseconds since 1970. Throws RangeError for everything else, days that no month has included.
 */
export function readInstant (text: string): number {
  const [, date = ''] = pattern.exec(text) ?? []
  const day = Date.parse(`${date}T00:00Z`)
  const instant = Date.parse(text)
  // A parser may take February 30 for March 2; printed again, such a day is another one.
  if (date === '' || Number.isNaN(day) || Number.isNaN(instant) || isoInstant(day).slice(0, 10) !== date) {
    throw new RangeError(`Not a date such as 2026-11-21 or a time such as 2026-11-21T07:30:00Z: ${text.slice(0, 80)}`)
  }
  return instant
}

/** Prints milliseconds since 1970 as ISO 8601 in UTC, with milliseconds. */
export function isoInstant (at: number): string {
  return new Date(at).toISOString()
}

/** The same for a time that may be absent. */
export function isoInstantOrNull (at: number | null): string | null {
  return at === null ? null : isoInstant(at)
}
