import type { JSX } from 'preact'
import type { RequestWithEntries as Answer } from '../../../schemas/admin/requests.ts'
import type { Page } from '../api/list.ts'
import { useLoad } from '../api/load.ts'
import type { Received } from '../api/received.ts'
import { Fact } from '../parts/field.tsx'
import { Money } from '../parts/money.tsx'
import { Failure, Loading } from '../parts/states.tsx'
import { SavedTable, type Column } from '../parts/table.tsx'
import { Duration, duration, Time } from '../parts/time.tsx'
import { link } from '../router.ts'
import { Outcome } from './outcome.tsx'
import type { Static } from '@sinclair/typebox'

type Request = Received<Static<typeof Answer>>
type Attempt = Request['attempts'][number]

/** One request: the decision, the calls of providers, the money and the times. Clients may repeat ids, so it may be several. */
export function RequestPage ({ id }: { id: string }): JSX.Element {
  const { state, answer, reload, ...rest } = useLoad<Page<Request>>(`/admin/requests/${encodeURIComponent(id)}`)
  return (
    <>
      <p><a href={link('requests')}>Requests</a></p>
      <h1><code>{id}</code></h1>
      {state === 'loading' && answer === null && <Loading />}
      {state === 'failed' && <Failure error={'error' in rest ? rest.error : null} retry={reload} />}
      {answer?.data.map(request => <OneRequest key={request.started_at} request={request} />)}
    </>
  )
}

function OneRequest ({ request }: { request: Request }): JSX.Element {
  return (
    <article>
      <p class='lead'><Outcome request={request} /> {request.route} <Time at={request.started_at} /></p>
      {request.error_code !== null && (
        <p class='notice bad'>The client received <code>{request.error_code}</code>. {request.provider_words}</p>
      )}
      <dl class='facts'>
        <Fact name='Account'><a href={link('accounts', request.account)}>{request.account}</a></Fact>
        <Fact name='Key'><a href={link('keys', request.key)}>{request.key}</a></Fact>
        <Fact name='Model'>{request.model ?? '–'}</Fact>
        <Fact name='Provider'>{request.provider ?? '–'}</Fact>
        {figuresOf(request).map(([name, figure]) => <Fact key={name} name={name}>{figure.toLocaleString('en-US')}</Fact>)}
        <Fact name='Delivery'>{request.stream ? 'streamed' : 'whole'}</Fact>
        {request.job !== null && <Fact name='Job'><a href={link('jobs', request.job)}>{request.job}</a></Fact>}
      </dl>
      <h2>Route</h2>
      <p>
        {request.policy === null
          ? <>The client asked for <code>{request.model_asked ?? 'no model'}</code>.</>
          : <>The policy <code>{request.policy}</code> chose <code>{request.model}</code> for <code>{request.model_asked}</code>.</>}
        {request.decision !== null && <> <span class='muted'>{request.decision}</span></>}
      </p>
      <h2>Attempts</h2>
      {request.attempts.length === 0
        ? <p class='muted'>No provider was called.</p>
        : <SavedTable label='Attempts' name={`attempts-${request.id}`} columns={attemptColumns} rows={request.attempts} keyOf={({ started_ms: ms, provider }) => `${ms} ${provider}`} />}
      {request.attempt_count > request.attempts.length && <p class='muted'>{request.attempt_count} calls in all.</p>}
      <h2>Money</h2>
      <ol class='steps'>
        <li><span class='muted'>Held</span> <Money nano={request.held_nano} /></li>
        <li><span class='muted'>Charged</span> <Money nano={request.cost_nano} /></li>
        {request.entries.map(({ id, kind, amount_nano: nano }) => (
          <li key={id}><span class='muted'>Entry {kind}</span> <Money nano={nano} /> <a href={entriesAround(request, kind)}><code>{id}</code></a></li>
        ))}
      </ol>
      {request.entries.length === 0 && <p class='muted'>Nothing was booked.</p>}
      <h2>Time</h2>
      <Timeline request={request} />
    </article>
  )
}

/** Numbers that are shown elsewhere. */
const shownApart = new Set(['status', 'attempt_count', 'first_byte_ms', 'total_ms'])

/** The other numbers of a request by their names, such as `Prompt tokens`. */
function figuresOf (request: Request): [string, number][] {
  return Object.entries(request).flatMap(([field, value]): [string, number][] => {
    if (typeof value !== 'number' || field.endsWith('_usd') || shownApart.has(field)) return []
    const words = field.replaceAll('_', ' ')
    return [[words.charAt(0).toUpperCase() + words.slice(1), value]]
  })
}

const aroundMs = 3_600_000

/** The entries of the account that were booked when the request ended. */
function entriesAround ({ account, started_at: start, ended_at: end }: Request, kind: string): string {
  const from = new Date(Date.parse(start) - aroundMs).toISOString()
  const to = new Date(Date.parse(end) + aroundMs).toISOString()
  return `${link('accounts', account, { kind, from, to })}#entries`
}

const attemptColumns: readonly Column<Attempt>[] = [
  { name: 'Provider', cell: ({ provider }) => provider, csv: ({ provider }) => provider },
  {
    name: 'Model there',
    cell: ({ model, price_basis: basis }) => basis === null ? model : <>{model} <small class='muted'>at the price of its family</small></>,
    csv: ({ model }) => model
  },
  { name: 'Status', cell: ({ status, failure }) => [status, failure?.replaceAll('_', ' ')].filter(part => part != null).join(' ') || '–', csv: ({ status }) => status },
  { name: 'Provider’s words', cell: ({ words, code }) => [code, words].filter(part => part !== null).join(': ') || '–', csv: ({ words }) => words },
  { name: 'Started', isNumber: true, isSecondary: true, cell: ({ started_ms: ms }) => `+${duration(ms)}`, csv: ({ started_ms: ms }) => ms },
  { name: 'Took', isNumber: true, cell: ({ duration_ms: ms }) => <Duration ms={ms} />, csv: ({ duration_ms: ms }) => ms }
]

const width = 600
const lane = 20

/** When each call ran within the request. */
function Timeline ({ request: { attempts, first_byte_ms: firstByte, total_ms: total } }: { request: Request }): JSX.Element {
  const x = (ms: number): number => Math.min(ms / Math.max(total, 1), 1) * width
  return (
    <>
      <svg class='timeline' viewBox={`0 0 ${width} ${lane * (attempts.length + 1)}`} role='img' aria-label={`${duration(total)} in all`}>
        <rect class='whole' x='0' y='4' width={width} height='12' rx='3' />
        {attempts.map(({ started_ms: started, duration_ms: took, failure }, index) => (
          <rect
            key={started} class={failure === null ? 'good' : 'bad'} x={Math.min(x(started), width - 4)} y={lane * (index + 1) + 4}
            width={Math.max(x(took ?? total - started), 4)} height='12' rx='3'
          />
        ))}
        {firstByte !== null && <line x1={x(firstByte)} x2={x(firstByte)} y1='0' y2={lane * (attempts.length + 1)} />}
      </svg>
      <dl class='facts'>
        <Fact name='First byte'><Duration ms={firstByte} /></Fact>
        <Fact name='In all'><Duration ms={total} /></Fact>
      </dl>
    </>
  )
}
