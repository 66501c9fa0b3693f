import type { JSX } from 'preact'
import type { AuditEvent } from '../../../schemas/admin/audit.ts'
import { useList } from '../api/list.ts'
import { jsonOf } from '../parts/csv.ts'
import { ChoiceFilter, Filters, TextFilter, TimeFilter } from '../parts/filter.tsx'
import { shortUsd } from '../parts/money.tsx'
import { Empty } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { link, query } from '../router.ts'
import { auditActions } from '../words.ts'

const filters = ['actor', 'action', 'target', 'from', 'to']

/** Who changed what, and when. */
export function AuditPage (): JSX.Element {
  const chosen = Object.fromEntries(filters.map(name => [name, query.value[name]]))
  const list = useList<AuditEvent>('/admin/audit', chosen)
  const isFiltered = Object.values(chosen).some(value => value !== undefined)
  return (
    <>
      <div class='head'>
        <h1>Audit</h1>
        <button type='button' class='plain' onClick={() => list.reload()}>Refresh</button>
      </div>
      <Filters names={filters}>
        <TextFilter name='actor' label='Who' placeholder='key:… or env' />
        <ChoiceFilter name='action' label='What' all='Anything' options={auditActions} />
        <TextFilter name='target' label='To what' placeholder='account:team-a' />
        <TimeFilter name='from' label='From' />
        <TimeFilter name='to' label='To' />
      </Filters>
      <ListTable
        label='Changes' hasCards list={list} columns={columns} keyOf={({ id }) => id} source={{ path: '/admin/audit', query: chosen, name: 'audit' }}
        empty={isFiltered
          ? <Empty title='No change matches'><p>Take a filter away, or look at a longer period.</p></Empty>
          : <Empty title='Nothing was changed yet'><p>Each change of a key, an account or the books appears here, with who made it.</p></Empty>}
      />
    </>
  )
}

const columns: readonly Column<AuditEvent>[] = [
  { name: 'Time', cell: ({ at }) => <Time at={at} />, csv: ({ at }) => at },
  { name: 'Who', cell: event => <Actor event={event} />, csv: ({ actor }) => actor },
  { name: 'Label', csv: ({ actor_label: label }) => label },
  { name: 'What', cell: ({ action }) => <a href={link('audit', { action })}>{action}</a>, csv: ({ action }) => action },
  { name: 'To what', cell: ({ target }) => <Target target={target} />, csv: ({ target }) => target },
  { name: 'Changes', isLong: true, cell: event => <Changes event={event} />, csv: ({ before, after }) => jsonOf({ before, after }) }
]

function Actor ({ event: { actor, actor_label: label } }: { event: AuditEvent }): JSX.Element {
  const name = label === null || label === '' ? actor : label
  return actor.startsWith('key:') ? <a href={link('keys', actor.slice(4))} title={actor}>{name}</a> : <>{name}</>
}

const pagesOf: Readonly<Record<string, string>> = { account: 'accounts', key: 'keys', job: 'jobs', provider: 'providers' }

/** The page of what was changed, for what has one. */
export function Target ({ target }: { target: string }): JSX.Element {
  const [kind = '', ...rest] = target.split(':')
  const id = rest.join(':')
  const page = pagesOf[kind]
  return page === undefined ? <>{target}</> : <a href={link(page, id)}>{target}</a>
}

/** The fields that differ, each as it was and as it is. */
function Changes ({ event: { before, after } }: { event: AuditEvent }): JSX.Element {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const changed = names.filter(name => textOf(before?.[name]) !== textOf(after?.[name]))
  return (
    <ul class='changes'>
      {changed.map(name => (
        <li key={name}>
          <span class='muted'>{nameOf(name)}</span> {before?.[name] != null && <><del>{textOf(before[name])}</del> → </>}{textOf(after?.[name])}
        </li>
      ))}
    </ul>
  )
}

function textOf (value: unknown): string {
  if (value === null || value === undefined) return 'none'
  if (typeof value === 'bigint') return shortUsd(value)
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  const given = Object.entries(value).filter(([, item]) => item !== null)
  return given.length === 0 ? 'none' : given.map(([name, item]) => `${nameOf(name)} ${textOf(item)}`).join(', ')
}

function nameOf (field: string): string {
  return field.replace(/_nano$/, '').replaceAll('_', ' ')
}
