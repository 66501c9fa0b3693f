import type { JSX } from 'preact'
import { useList } from '../api/list.ts'
import { ChoiceFilter, Filters, TextFilter } from '../parts/filter.tsx'
import { exactUsd, Money } from '../parts/money.tsx'
import { Empty } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { link, query, segments } from '../router.ts'
import { isUser } from '../session.ts'
import { jobStates } from '../words.ts'
import { JobPage } from './job.tsx'
import { JobState, type KnownJob } from './job-state.tsx'

/** The jobs of video models, or one. */
export function JobsPage (): JSX.Element {
  const [, id] = segments.value
  return id === undefined ? <JobList /> : <JobPage key={id} id={id} />
}

function JobList (): JSX.Element {
  const { account, model, state } = query.value
  const chosen = { account, model, state }
  const list = useList<KnownJob>('/admin/jobs', chosen)
  return (
    <>
      <div class='head'>
        <h1>Jobs</h1>
        <button type='button' class='plain' onClick={() => list.reload()}>Refresh</button>
      </div>
      <Filters names={['account', 'model', 'state']}>
        {!isUser() && <TextFilter name='account' label='Account' />}
        <TextFilter name='model' label='Model' />
        <ChoiceFilter name='state' label='State' all='Any' options={['live', ...jobStates]} />
      </Filters>
      <ListTable
        label='Jobs' list={list} columns={columns} keyOf={({ id }) => id} href={({ id }) => link('jobs', id)}
        source={{ path: '/admin/jobs', query: chosen, name: 'jobs' }}
        empty={<Empty title={account === undefined && model === undefined && state === undefined ? 'No jobs yet' : 'No job matches'}><p>A video is made by a job, which goes on without its client. Start one in the <a href={link('playground', { kind: 'video' })}>playground</a>.</p></Empty>}
      />
    </>
  )
}

const columns: readonly Column<KnownJob>[] = [
  { name: 'Created', cell: ({ created_at: at }) => <Time at={at} />, csv: ({ created_at: at }) => at },
  { name: 'State', cell: job => <JobState job={job} />, csv: ({ state }) => state },
  { name: 'Model', cell: ({ model }) => model, csv: ({ model }) => model },
  { name: 'Provider', isSecondary: true, cell: ({ provider }) => provider ?? '–', csv: ({ provider }) => provider },
  { name: 'Account', isSecondary: true, cell: ({ account }) => account, csv: ({ account }) => account },
  { name: 'Seconds', isNumber: true, isSecondary: true, cell: ({ seconds }) => seconds, csv: ({ seconds }) => seconds },
  { name: 'Held', isNumber: true, isSecondary: true, cell: ({ held_nano: nano }) => <Money nano={nano} />, csv: ({ held_nano: nano }) => exactUsd(nano) },
  { name: 'Cost', isNumber: true, cell: ({ cost_nano: nano }) => <Money nano={nano} />, csv: ({ cost_nano: nano }) => nano === null ? null : exactUsd(nano) },
  { name: 'Job', csv: ({ id }) => id }
]
