import type { Log } from '../shared/log.ts'

/** The reported and the expected cost of a request, in nano-USD. */
export interface ReportedCost {
  provider: string | null
  model: string
  expectedNano: number
  reportedNano: number
}

export type CostWatch = (cost: ReportedCost) => void

interface CostWatchOptions {
  /** The share by which a reported cost may differ. */
  tolerance: () => number
  log: Pick<Log, 'warn'>
  /** Receives each cost that differs by more. */
  onMismatch: (cost: ReportedCost) => void
  monotonic?: () => number
}

const hourMs = 3_600_000
const maxNoted = 1_000

/**
 * Creates the function that compares reported costs with expected ones. A mismatch is logged once per hour
 * and model of a provider.
 */
export function createCostWatch (
  { tolerance, log, onMismatch, monotonic = () => performance.now() }: CostWatchOptions
): CostWatch {
  const notedAtMs = new Map<string, number>()

  function note (cost: ReportedCost): void {
    const name = `${cost.provider}\n${cost.model}`
    const nowMs = monotonic()
    const lastMs = notedAtMs.get(name)
    if (lastMs !== undefined && nowMs - lastMs < hourMs) return
    if (notedAtMs.size >= maxNoted) notedAtMs.clear()
    notedAtMs.set(name, nowMs)
    log.warn({ ...cost }, 'a provider reports another cost than expected')
  }

  return cost => {
    if (!isCostMismatch(cost, tolerance())) return
    onMismatch(cost)
    note(cost)
  }
}

/** Providers round each request in their own way. */
const roundingNano = 1_000

/** Whether the reported cost of a request is not the expected one, give or take a share of the larger. */
export function isCostMismatch (
  { expectedNano, reportedNano }: Pick<ReportedCost, 'expectedNano' | 'reportedNano'>, tolerance: number
): boolean {
  const differenceNano = Math.abs(reportedNano - expectedNano)
  return differenceNano > Math.max(roundingNano, tolerance * Math.max(expectedNano, reportedNano))
}
