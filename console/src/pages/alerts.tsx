import type { JSX } from 'preact'
import type { Alert } from '../../../schemas/admin/alerts.ts'
import { useList } from '../api/list.ts'
import type { Received } from '../api/received.ts'
import { Badge, type Tone } from '../parts/badge.tsx'
import { jsonOf } from '../parts/csv.ts'
import { shortUsd } from '../parts/money.tsx'
import { Empty } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { link } from '../router.ts'

type KnownAlert = Received<Alert>

/** What operators were told of budgets and balances, and whether it arrived. */
export function AlertsPage (): JSX.Element {
  const list = useList<KnownAlert>('/admin/alerts')
  return (
    <>
      <div class='head'>
        <h1>Alerts</h1>
        <button type='button' class='plain' onClick={() => list.reload()}>Refresh</button>
      </div>
      <ListTable
        label='Alerts' hasCards list={list} columns={columns} keyOf={({ id }) => id} source={{ path: '/admin/alerts', name: 'alerts' }}
        empty={(
          <Empty title='No alerts'>
            <p>
              The gateway alerts when a budget is used up to a threshold and when a balance is low. Give a key a budget or
              an <a href={link('accounts')}>account</a> a soft budget, and set the webhook under <code>alerts</code> in <code>gateway.yaml</code>.
            </p>
          </Empty>
        )}
      />
    </>
  )
}

const tones: Record<Alert['state'], Tone> = { waiting: 'warn', delivered: 'good', given_up: 'bad' }

const columns: readonly Column<KnownAlert>[] = [
  { name: 'Time', cell: ({ created_at: at }) => <Time at={at} />, csv: ({ created_at: at }) => at },
  { name: 'Of', cell: alert => <Subject alert={alert} />, csv: ({ data }) => textOf(data['key'] ?? data['account']) },
  { name: 'Alert', isLong: true, cell: wordsOf, csv: ({ type }) => type },
  { name: 'Data', csv: ({ data }) => jsonOf(data) },
  {
    name: 'Webhook',
    cell: ({ state, error }) => <><Badge tone={tones[state]}>{state.replace('_', ' ')}</Badge>{error !== null && <small class='muted'> {error}</small>}</>,
    csv: ({ state }) => state
  },
  { name: 'Attempts', isNumber: true, isSecondary: true, cell: ({ attempts }) => attempts, csv: ({ attempts }) => attempts },
  { name: 'Next attempt', isSecondary: true, cell: ({ next_attempt_at: at }) => <Time at={at} />, csv: ({ next_attempt_at: at }) => at },
  { name: 'Error', csv: ({ error }) => error }
]

function wordsOf ({ type, data }: KnownAlert): string {
  if (type === 'balance.low') return `The balance is ${amount(data['balance_nano'])}, below ${amount(data['limit_nano'])}.`
  if (type !== 'budget.threshold_reached') return type
  const period = data['period'] === null ? '' : ` of ${String(data['period'])}`
  return `${String(data['threshold_percent'])} % of the budget${period} is used, ${amount(data['spent_nano'])} of ${amount(data['budget_nano'])}.`
}

function amount (nano: unknown): string {
  return typeof nano === 'bigint' ? shortUsd(nano) : '–'
}

function Subject ({ alert: { data } }: { alert: KnownAlert }): JSX.Element | null {
  const { key, key_label: label, account, account_name: name } = data
  if (typeof key === 'string') return <a class='nowrap' href={link('keys', key)}>{typeof label === 'string' && label !== '' ? label : key}</a>
  if (typeof account !== 'string') return null
  return <a class='nowrap' href={link('accounts', account)}>{typeof name === 'string' ? name : account}</a>
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : ''
}
