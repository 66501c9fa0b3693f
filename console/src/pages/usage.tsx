import type { JSX } from 'preact'
import type { Query } from '../api/fetch.ts'
import { useList } from '../api/list.ts'
import { useLoad } from '../api/load.ts'
import type { Page } from '../api/list.ts'
import { Chart } from '../parts/chart.tsx'
import { Choice, Fact } from '../parts/field.tsx'
import { Filters, TextFilter } from '../parts/filter.tsx'
import { exactUsd, Money, shortUsd } from '../parts/money.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { link, query, setQuery } from '../router.ts'
import { isUser } from '../session.ts'
import { change, daysOf, periodsOf, seriesOf, totalOf, type Total, type Usage } from './usage-figures.ts'

const lengths = [['1', 'Today'], ['7', '7 days'], ['30', '30 days'], ['90', '90 days']] as const
const dimensions = ['model', 'key', 'account', 'provider'] as const
type Dimension = typeof dimensions[number]

/** What was spent by day and model, key, account or provider, beside the period before. */
export function UsagePage (): JSX.Element {
  const { days = '30', account, key, model, provider } = query.value
  const offered = dimensions.filter(name => !isUser() || name === 'model' || name === 'key')
  const by = offered.find(name => name === query.value['by']) ?? 'model'
  const { now, before } = periodsOf(Math.min(Number(days) || 30, 366), new Date())
  const filter = { account, key, model, provider }
  const total = useLoad<Page<Usage>>('/admin/usage', { ...now, ...filter, by: 'day', limit: '1000' })
  const previous = useLoad<Page<Usage>>('/admin/usage', { ...before, ...filter, by: 'month' })
  const daily = useLoad<Page<Usage>>('/admin/usage', { ...now, ...filter, by: `day,${by}`, limit: '1000' })
  // With too many rows for one answer, whose last days would be missing, only the days.
  const isTooMuch = daily.answer?.has_more === true
  const shown = isTooMuch ? total : daily
  const rows = useList<Usage>('/admin/usage', { ...now, ...filter, by })
  // All at once, so that nothing on the page moves.
  const isReady = total.answer !== null && shown.answer !== null && (previous.answer !== null || previous.state === 'failed')
  const failed = [total, daily].find(one => one.state === 'failed')
  const series = seriesOf(shown.answer?.data ?? [], by, daysOf(now), isTooMuch ? 'all' : '–')
  const log = { ...filter, from: `${now.from}T00:00:00.000Z`, to: `${now.to}T00:00:00.000Z` }
  return (
    <>
      <h1>Usage</h1>
      <form class='filters' onSubmit={event => event.preventDefault()} aria-label='Report'>
        <Choice label='Period' value={days} onValue={value => setQuery({ days: value })} options={lengths} />
        <Choice label='By' value={by} onValue={value => setQuery({ by: value })} options={offered} />
      </form>
      <Filters names={['account', 'key', 'model', 'provider']} kept={{ days: query.value['days'], by: query.value['by'] }}>
        {!isUser() && <TextFilter name='account' label='Account' />}
        <TextFilter name='key' label='Key' />
        <TextFilter name='model' label='Model' />
        {!isUser() && <TextFilter name='provider' label='Provider' />}
      </Filters>
      {failed !== undefined && <Failure error={failed.error} retry={failed.reload} />}
      {failed === undefined && !isReady && <Loading />}
      {isReady && (
        <>
          <Figures now={totalOf(total.answer?.data ?? [])} before={totalOf(previous.answer?.data ?? [])} log={log} />
          {series.length > 0 && (
            <Chart label={isTooMuch ? 'Spend by day' : `Spend by day and ${by}`} days={daysOf(now)} series={series} format={value => shortUsd(BigInt(Math.round(value)))} />
          )}
          <ListTable
            label={`Usage by ${by}`} list={rows} columns={columnsBy(by, log)} keyOf={row => row[by] ?? ''}
            source={{ path: '/admin/usage', query: { ...now, ...filter, by }, name: `usage-by-${by}` }}
            empty={<Empty title='Nothing was used in this period'><p>{Object.values(filter).some(value => value !== undefined) ? 'Take a filter away, choose' : 'Choose'} a longer one, or send a request in the <a href={link('playground')}>playground</a>.</p></Empty>}
          />
        </>
      )}
    </>
  )
}

interface FiguresProps {
  now: Total
  before: Total
  /** The filter of the requests that they are made of. */
  log: Query
}

function Figures ({ now, before, log }: FiguresProps): JSX.Element {
  const requests = link('requests', log)
  return (
    <dl class='facts big'>
      <Fact name='Spent'><a href={requests}><Money nano={now.costNano} /></a><Change now={now.costNano} before={before.costNano} /></Fact>
      <Fact name='Requests'><a href={requests}>{count(now.requests)}</a><Change now={now.requests} before={before.requests} /></Fact>
      <Fact name='Prompt tokens'><a href={requests}>{count(now.promptTokens)}</a></Fact>
      <Fact name='Completion tokens'><a href={requests}>{count(now.completionTokens)}</a></Fact>
      {now.savedNano > 0n && <Fact name='Saved by auto'><a href={link('requests', { ...log, model: 'auto' })}><Money nano={now.savedNano} /></a></Fact>}
    </dl>
  )
}

function Change ({ now, before }: { now: number | bigint, before: number | bigint }): JSX.Element {
  return <small class='muted change'>{change(Number(now), Number(before))}</small>
}

function count (value: number): string {
  return value.toLocaleString('en-US')
}

function columnsBy (by: Dimension, log: Query): readonly Column<Usage>[] {
  const name = `${by[0]?.toUpperCase()}${by.slice(1)}`
  return [
    {
      name,
      cell: row => {
        const value = row[by]
        if (value === null) return '–'
        const to = by === 'account' || by === 'key' ? link(`${by}s`, value) : link('requests', { [by]: value })
        return <a href={to}>{value}</a>
      },
      csv: row => row[by]
    },
    { name: 'Requests', isNumber: true, cell: row => <a href={link('requests', { ...log, [by]: row[by] ?? undefined })}>{count(row.requests)}</a>, csv: row => row.requests },
    { name: 'Prompt tokens', isNumber: true, isSecondary: true, cell: row => count(row.prompt_tokens), csv: row => row.prompt_tokens },
    { name: 'Cached tokens', csv: row => row.cached_tokens },
    { name: 'Completion tokens', isNumber: true, isSecondary: true, cell: row => count(row.completion_tokens), csv: row => row.completion_tokens },
    { name: 'Images', isNumber: true, isSecondary: true, cell: row => count(row.images), csv: row => row.images },
    { name: 'Seconds of video', isNumber: true, isSecondary: true, cell: row => count(row.seconds), csv: row => row.seconds },
    { name: 'Spent', isNumber: true, cell: row => <a href={link('requests', { ...log, [by]: row[by] ?? undefined })}><Money nano={row.cost_nano} /></a>, csv: row => exactUsd(row.cost_nano) }
  ]
}
