import { Counter, Histogram, type Registry } from 'prom-client'
import type { RequestSummary } from '../../../requests/request-summary.ts'

/** Numbers of accounts and keys with separate labels; 0 for no labels. */
export interface LabelBounds { accounts: number, keys: number }

/** In seconds; few, because there is a series per bound and account. */
const bounds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const nanoPerUsd = 1_000_000_000
/** Combinations of account, key and model; models of further ones are counted as `other`. */
export const maxAccountSeries = 5_000
const other = 'other'

type Labels = Record<string, string>

interface Cell {
  labels: Labels
  /** By status, `client_gone` or `broken_off`. */
  outcomes: Map<string, number>
  prompt: number
  completion: number
  costNano: number
}

/**
 * Counts requests by account and key within the configured numbers: the first to send a request get separate
 * labels, the others share `other`. Requests without a key are not counted here.
 */
export function countAccounts (registry: Registry, most: LabelBounds): (finished: RequestSummary) => void {
  const accountOf = boundedNames(most.accounts)
  const keyOf = boundedNames(most.keys)
  const names = [...most.accounts > 0 ? ['account'] : [], ...most.keys > 0 ? ['key'] : []]
  const cells = new Map<string, Cell>()
  registerCounters(registry, [...names, 'model'], cells)
  const duration = new Histogram({
    name: 'tollgate_account_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response, by account.',
    labelNames: names.slice(0, 1),
    buckets: bounds,
    registers: [registry]
  })

  function cellOf (labels: Labels): Cell {
    const id = JSON.stringify(labels)
    const known = cells.get(id)
    if (known !== undefined) return known
    if (cells.size >= maxAccountSeries && labels['model'] !== other) return cellOf({ ...labels, model: other })
    const cell = { labels, outcomes: new Map(), prompt: 0, completion: 0, costNano: 0 }
    cells.set(id, cell)
    return cell
  }

  return ({ key, status, isClientGone, record, startedMs, endedMs }) => {
    if (key === null) return
    const labels: Labels = {
      ...most.accounts > 0 && { account: accountOf(key.account) },
      ...most.keys > 0 && { key: keyOf(key.id) }
    }
    const cell = cellOf({ ...labels, model: record.model ?? '' })
    const outcome = isClientGone ? 'client_gone' : record.failure === null ? String(status) : 'broken_off'
    cell.outcomes.set(outcome, (cell.outcomes.get(outcome) ?? 0) + 1)
    cell.prompt += record.report?.usage?.prompt ?? 0
    cell.completion += record.report?.usage?.completion ?? 0
    cell.costNano += record.costNano ?? 0
    const [first = ''] = names
    duration.observe({ [first]: labels[first] ?? '' }, (endedMs - startedMs) / 1000)
  }
}

/** The first `most` names unchanged, and `other` for all further ones. */
function boundedNames (most: number): (name: string) => string {
  const known = new Set<string>()
  return name => {
    if (known.size < most) known.add(name)
    return known.has(name) ? name : other
  }
}

function registerCounters (registry: Registry, names: string[], cells: ReadonlyMap<string, Cell>): void {
  type Values = (cell: Cell) => [string, number][]
  const counter = (name: string, help: string, label: string | null, valuesOf: Values) => {
    registry.registerMetric(new Counter({
      name,
      help,
      labelNames: label === null ? names : [...names, label],
      registers: [],
      collect () {
        this.reset()
        for (const cell of cells.values()) {
          for (const [value, count] of valuesOf(cell)) {
            if (count > 0) this.inc({ ...cell.labels, ...label !== null && { [label]: value } }, count)
          }
        }
      }
    }))
  }
  counter('tollgate_account_requests_total', 'Requests by account or key and outcome.', 'status',
    ({ outcomes }) => [...outcomes])
  counter('tollgate_account_tokens_total', 'Tokens that providers reported, by account or key.', 'kind',
    ({ prompt, completion }) => [['prompt', prompt], ['completion', completion]])
  counter('tollgate_account_cost_usd_total', 'Charges in US dollars, by account or key.', null,
    ({ costNano }) => [['', costNano / nanoPerUsd]])
}
