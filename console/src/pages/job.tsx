import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { AdminJobWithTimeline } from '../../../schemas/admin/jobs.ts'
import { call } from '../api/fetch.ts'
import { useLoad } from '../api/load.ts'
import type { Received } from '../api/received.ts'
import { Action } from '../parts/action.tsx'
import { Fact } from '../parts/field.tsx'
import { Money } from '../parts/money.tsx'
import { Failure, Loading } from '../parts/states.tsx'
import { SavedTable, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { link } from '../router.ts'
import { may } from '../session.ts'
import { JobState } from './job-state.tsx'

type Job = Received<AdminJobWithTimeline>

const againMs = 2000
const running = ['submitting', 'queued', 'running', 'storing']

/** One job: its steps with their times, its money and what it made. */
export function JobPage ({ id }: { id: string }): JSX.Element {
  const path = `/admin/jobs/${encodeURIComponent(id)}`
  const loaded = useLoad<Job>(path)
  const job = loaded.answer
  const isRunning = job !== null && running.includes(job.state)
  useEffect(() => {
    if (!isRunning || loaded.state !== 'ready') return
    const timer = setTimeout(loaded.reload, againMs)
    return () => clearTimeout(timer)
  }, [isRunning, loaded.state])
  async function cancel (): Promise<void> {
    await call(`${path}/cancel`, { method: 'POST' })
    loaded.reload()
  }
  return (
    <>
      <p><a href={link('jobs')}>Jobs</a></p>
      <h1><code>{id}</code></h1>
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={loaded.reload} />}
      {loaded.state === 'loading' && job === null && <Loading />}
      {job !== null && (
        <article>
          <p class='lead'><JobState job={job} /> {job.model} {job.provider !== null && <>at {job.provider}</>}</p>
          {job.error !== null && <p class='notice bad'>{job.error.code !== null && <code>{job.error.code}</code>} {job.error.message}</p>}
          {job.copy_error !== null && <p class='notice bad'>Not stored yet: {job.copy_error.message}</p>}
          <ol class='steps' aria-label='Steps'>
            {job.timeline.map(step => <Step key={`${step.step} ${step.at}`} step={step} account={job.account} />)}
          </ol>
          <dl class='facts'>
            <Fact name='Account'><a href={link('accounts', job.account)}>{job.account}</a></Fact>
            <Fact name='Key'><a href={link('keys', job.key)}>{job.key}</a></Fact>
            <Fact name='Held'>{job.held_nano === 0n ? <Money nano={0n} /> : <a href={link('accounts', job.account, 'holds')}><Money nano={job.held_nano} /></a>}</Fact>
            <Fact name='Cost'><Money nano={job.cost_nano} /></Fact>
            <Fact name='Seconds'>{job.seconds}</Fact>
            <Fact name='Delivered'>{job.delivered ? 'yes' : 'no'}</Fact>
            <Fact name='Waiting clients'>{job.waiters}</Fact>
            {job.videos.length > 0 && <Fact name='Video'><a href={link('media', { account: job.account, kind: 'video' })}>{job.videos.map(({ seconds, width, height }) => `${seconds ?? '?'} s, ${width ?? '?'} × ${height ?? '?'}`).join('; ')}</a></Fact>}
          </dl>
          {job.webhooks.length > 0 && <h2>Webhooks</h2>}
          {job.webhooks.length > 0 && <SavedTable label='Webhooks' name={`webhooks-${id}`} columns={webhookColumns} rows={job.webhooks} keyOf={({ id }) => id} />}
          {isRunning && may('operate') && (
            <div class='actions'>
              <Action label='Cancel…' title='Cancel the job' does='Cancel the job' confirm={id} run={cancel}>
                <p>Its client gets no video and pays nothing; the provider may charge for what it has done.</p>
              </Action>
            </div>
          )}
        </article>
      )}
    </>
  )
}

const webhookColumns: readonly Column<Job['webhooks'][number]>[] = [
  { name: 'Receiver', cell: ({ url }) => url, csv: ({ url }) => url },
  { name: 'State', cell: ({ state, error }) => <>{state.replace('_', ' ')}{error !== null && <small class='muted'> {error}</small>}</>, csv: ({ state }) => state },
  { name: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts, csv: ({ attempts }) => attempts },
  { name: 'Next attempt', isSecondary: true, cell: ({ next_attempt_at: at }) => <Time at={at} />, csv: ({ next_attempt_at: at }) => at },
  { name: 'Delivered', cell: ({ delivered_at: at }) => <Time at={at} />, csv: ({ delivered_at: at }) => at }
]

function Step ({ step: { step, at, ref }, account }: { step: Job['timeline'][number], account: string }): JSX.Element {
  const day = (days: number): string => new Date(Date.parse(at) + days * 86_400_000).toISOString()
  const to = step === 'stored'
    ? link('media', { account, kind: 'video' })
    : `${link('accounts', account, { kind: 'usage', from: day(-1), to: day(1) })}#entries`
  return <li><span class='muted'>{step}</span> <Time at={at} />{ref !== null && <> <a href={to} title={ref}><code>{ref.length > 16 ? `${ref.slice(0, 8)}…` : ref}</code></a></>}</li>
}
