import type { JSX } from 'preact'
import { outcomeFilters } from '../words.ts'
import { useList } from '../api/list.ts'
import { ChoiceFilter, Filters, TextFilter, TimeFilter } from '../parts/filter.tsx'
import { exactUsd, Money } from '../parts/money.tsx'
import { Empty } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { Duration, Time } from '../parts/time.tsx'
import { link, query, segments } from '../router.ts'
import { isUser } from '../session.ts'
import { Outcome, type LoggedRequest } from './outcome.tsx'
import { RequestPage } from './request.tsx'

/** The request log, or one request of it. */
export function RequestsPage (): JSX.Element {
  const [, id] = segments.value
  return id === undefined ? <RequestLog /> : <RequestPage key={id} id={id} />
}

const filters = ['account', 'key', 'model', 'provider', 'failed_at', 'status', 'outcome', 'from', 'to']

function RequestLog (): JSX.Element {
  const chosen = Object.fromEntries(filters.map(name => [name, query.value[name]]))
  const list = useList<LoggedRequest>('/admin/requests', chosen)
  const isFiltered = Object.values(chosen).some(value => value !== undefined)
  return (
    <>
      <div class='head'>
        <h1>Requests</h1>
        <button type='button' class='plain' onClick={() => list.reload()}>Refresh</button>
      </div>
      <Filters names={filters}>
        {!isUser() && <TextFilter name='account' label='Account' />}
        <TextFilter name='key' label='Key' />
        <TextFilter name='model' label='Model' />
        {!isUser() && <TextFilter name='provider' label='Provider' />}
        {!isUser() && <TextFilter name='failed_at' label='Failed at' />}
        <TextFilter name='status' label='Status' />
        <ChoiceFilter name='outcome' label='Outcome' all='Any' options={outcomeFilters} />
        <TimeFilter name='from' label='From' />
        <TimeFilter name='to' label='To' />
      </Filters>
      <ListTable
        label='Requests' list={list} columns={columns} keyOf={({ id, started_at: at }) => `${id} ${at}`}
        href={({ id }) => link('requests', id)} source={{ path: '/admin/requests', query: chosen, name: 'requests' }}
        empty={isFiltered
          ? <Empty title='No request matches'><p>Take a filter away, or look at a longer period.</p></Empty>
          : <Empty title='No requests yet'><p>Each request to this gateway appears here. Send one in the <a href={link('playground')}>playground</a>.</p></Empty>}
      />
    </>
  )
}

const columns: readonly Column<LoggedRequest>[] = [
  { name: 'Time', cell: ({ started_at: at }) => <Time at={at} />, csv: ({ started_at: at }) => at },
  { name: 'Outcome', cell: request => <Outcome request={request} isShort />, csv: ({ status, outcome }) => `${status} ${outcome}` },
  {
    name: 'Model',
    cell: ({ model, model_asked: asked }) => <>{model ?? asked ?? '–'}{asked !== null && model !== null && asked !== model && <small class='muted'> for {asked}</small>}</>,
    csv: ({ model, model_asked: asked }) => model ?? asked
  },
  { name: 'Provider', isSecondary: true, cell: ({ provider }) => provider ?? '–', csv: ({ provider }) => provider },
  { name: 'Account', isSecondary: true, cell: ({ account }) => account, csv: ({ account }) => account },
  { name: 'Key', isSecondary: true, cell: ({ key }) => key, csv: ({ key }) => key },
  {
    name: 'Tokens',
    isNumber: true,
    isSecondary: true,
    cell: ({ prompt_tokens: prompt, completion_tokens: completion }) => `${prompt.toLocaleString('en-US')} + ${completion.toLocaleString('en-US')}`,
    csv: ({ prompt_tokens: prompt, completion_tokens: completion }) => prompt + completion
  },
  { name: 'Cost', isNumber: true, cell: ({ cost_nano: nano }) => <Money nano={nano} />, csv: ({ cost_nano: nano }) => exactUsd(nano) },
  { name: 'Duration', isNumber: true, isSecondary: true, cell: ({ total_ms: ms }) => <Duration ms={ms} />, csv: ({ total_ms: ms }) => ms },
  { name: 'Request', csv: ({ id }) => id }
]
