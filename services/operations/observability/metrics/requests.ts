import { Counter, Histogram, type Registry } from 'prom-client'
import type { RequestSummary } from '../../../requests/request-summary.ts'

/** In seconds; from a cached response to a video. */
const bounds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const nanoPerUsd = 1_000_000_000

/** Combinations of route, model and provider that have labels; further ones are counted as `other`. */
export const maxSeries = 500

interface Cell {
  labels: { route: string, model: string, provider: string }
  /** By status, `client_gone` or `broken_off`. */
  outcomes: Map<string, number>
  promptTokens: number
  completionTokens: number
  costNano: number
  attempts: number
}

/**
 * Counts requests; sums become counters when metrics are read. Labels are routes, models of the catalogue and
 * providers, never text from a client: a request for an unknown model has none.
 */
export function countRequests (registry: Registry): (finished: RequestSummary) => void {
  const cells = new Map<string, Cell>()
  register(registry, cells)
  const duration = createHistogram(registry, 'tollgate_request_duration_seconds',
    'Time from the head of a request to the end of its response.')
  const firstByte = createHistogram(registry, 'tollgate_first_byte_seconds',
    'Time from the head of a request to the first byte of its response.')

  function cellOf (route: string, model: string, provider: string): Cell {
    const id = `${route} ${provider} ${model}`
    const known = cells.get(id)
    if (known !== undefined) return known
    if (cells.size >= maxSeries && model !== other) return cellOf(route, other, other)
    const cell = createCell({ route, model, provider })
    cells.set(id, cell)
    return cell
  }

  return ({ route, status, isClientGone, record, startedMs, endedMs }) => {
    const cell = cellOf(route ?? 'none', record.model ?? '', record.provider ?? '')
    const outcome = isClientGone ? 'client_gone' : record.failure === null ? String(status) : 'broken_off'
    cell.outcomes.set(outcome, (cell.outcomes.get(outcome) ?? 0) + 1)
    duration.observe(cell.labels, (endedMs - startedMs) / 1000)
    const { firstByteAtMs } = record
    if (firstByteAtMs !== null) firstByte.observe(cell.labels, (firstByteAtMs - startedMs) / 1000)
    cell.promptTokens += record.report?.usage?.prompt ?? 0
    cell.completionTokens += record.report?.usage?.completion ?? 0
    cell.costNano += record.costNano ?? 0
    cell.attempts += record.attempts
  }
}

const other = 'other'

function createCell (labels: Cell['labels']): Cell {
  return { labels, outcomes: new Map(), promptTokens: 0, completionTokens: 0, costNano: 0, attempts: 0 }
}

const names = ['route', 'model', 'provider'] as const

function createHistogram (registry: Registry, name: string, help: string): Histogram<typeof names[number]> {
  return new Histogram({ name, help, labelNames: names, buckets: bounds, registers: [registry] })
}

function register (registry: Registry, cells: ReadonlyMap<string, Cell>): void {
  type Values = (cell: Cell) => [string, number][]
  const counter = (name: string, help: string, label: string | null, valuesOf: Values) => {
    registry.registerMetric(new Counter({
      name,
      help,
      labelNames: label === null ? [...names] : [...names, label],
      registers: [],
      collect () {
        this.reset()
        for (const cell of cells.values()) {
          for (const [value, count] of valuesOf(cell)) {
            if (count > 0) this.inc({ ...cell.labels, ...(label !== null && { [label]: value }) }, count)
          }
        }
      }
    }))
  }
  counter('tollgate_requests_total',
    'Requests by outcome: the status, client_gone, or broken_off after the status was sent.', 'status', ({ outcomes }) => [...outcomes])
  counter('tollgate_tokens_total', 'Tokens that providers reported.', 'kind',
    cell => [['prompt', cell.promptTokens], ['completion', cell.completionTokens]])
  counter('tollgate_cost_usd_total', 'Charges for requests in US dollars.', null,
    ({ costNano }) => [['', costNano / nanoPerUsd]])
  counter('tollgate_provider_calls_total', 'Calls of providers, by the one that served the request.', null,
    ({ attempts }) => [['', attempts]])
}
