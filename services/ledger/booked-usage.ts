import type { Posting, Tags } from './ledger.ts'

/** Returns the JSON for the column `usage` of an entry: its counts, costs and tags. */
export function usageText ({ usage, costNano: cost, reportedNano: reported, tags }: Posting): string {
  if (cost === undefined && reported === undefined && tags == null) return JSON.stringify(usage)
  return JSON.stringify({ ...usage, cost, reported, tags: tags ?? undefined })
}

/** What the column `usage` of an entry says. Costs are in integer nano-USD. */
export interface EntryUsage {
  counts: Record<string, number>
  costNano: number | null
  reportedNano: number | null
  tags: Tags | null
}

/** Reads the text that `usageText` has written. */
export function readUsageText (text: string): EntryUsage {
  const { cost, reported, tags, ...counts } = JSON.parse(text)
  return { counts, costNano: cost ?? null, reportedNano: reported ?? null, tags: tags ?? null }
}
