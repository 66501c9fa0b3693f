import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { AdminProvider, ProviderProbe } from '../../../schemas/admin/providers.ts'
import { inWords } from '../api/error.ts'
import { call } from '../api/fetch.ts'
import type { Page } from '../api/list.ts'
import { useLoad } from '../api/load.ts'
import { AddProvider } from '../parts/add-provider.tsx'
import { Badge, type Tone } from '../parts/badge.tsx'
import { Fact } from '../parts/field.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { SavedTable, type Column } from '../parts/table.tsx'
import { Duration, duration, Time } from '../parts/time.tsx'
import { link, segments } from '../router.ts'
import { may } from '../session.ts'

type Deployment = AdminProvider['deployments'][number]

/** Each provider with its circuit breaker, latencies, failures and last words. */
export function ProvidersPage (): JSX.Element {
  const { state, answer, reload, ...rest } = useLoad<Page<AdminProvider>>('/admin/providers')
  const [, id] = segments.value
  const shown = answer?.data.filter(provider => id === undefined || provider.id === id) ?? []
  return (
    <>
      {id !== undefined && <p><a href={link('providers')}>Providers</a></p>}
      <div class='head'>
        <h1>{id ?? 'Providers'}</h1>
        <button type='button' class='plain' onClick={() => reload()}>Refresh</button>
      </div>
      {state === 'loading' && answer === null && <Loading />}
      {state === 'failed' && <Failure error={'error' in rest ? rest.error : null} retry={reload} />}
      {answer !== null && shown.length === 0 && (
        <Empty title={id === undefined ? 'No provider yet' : 'No such provider'}><AddProvider /></Empty>
      )}
      {id === undefined && shown.length === 1 && shown[0]?.protocol === 'sandbox' && <AddProvider />}
      {shown.map(provider => <OneProvider key={provider.id} provider={provider} isAlone={id !== undefined} />)}
    </>
  )
}

/** The worst circuit breaker of a provider, in words. */
export function ProviderState ({ state }: { state: AdminProvider['state'] | null }): JSX.Element {
  const tones: Record<AdminProvider['state'], Tone> = { ready: 'good', paused: 'warn', open: 'bad', unused: 'quiet' }
  return state === null ? <span class='muted'>–</span> : <Badge tone={tones[state]}>{state}</Badge>
}

function OneProvider ({ provider, isAlone }: { provider: AdminProvider, isAlone: boolean }): JSX.Element {
  const { id, last_failure: failure, failures, deployments } = provider
  const lastHour = { provider: id, from: new Date(Date.now() - 3_600_000).toISOString() }
  return (
    <article class='provider'>
      <div class='head'>
        <h2>{isAlone ? 'Now' : <a href={link('providers', id)}>{id}</a>} <ProviderState state={provider.state} /></h2>
        {may('operate') && <Probe id={id} />}
      </div>
      <dl class='facts'>
        <Fact name='Calls, last hour'><a href={link('requests', lastHour)}>{provider.calls.toLocaleString('en-US')}</a></Fact>
        <Fact name='Failed calls'>
          <a href={link('requests', { failed_at: id, from: lastHour.from })}>{provider.failed_calls.toLocaleString('en-US')}</a>{' '}
          <small class='muted'>{failures.map(({ kind, count }) => `${count} ${kind.replaceAll('_', ' ')}`).join(', ')}</small>
        </Fact>
        <Fact name='Half within'><Duration ms={provider.p50_ms} /></Fact>
        <Fact name='95 % within'><Duration ms={provider.p95_ms} /></Fact>
        <Fact name='Models'>{provider.models}</Fact>
        {provider.unpriced > 0 && <Fact name='Without a price' isWide><Unpriced provider={provider} /></Fact>}
        <Fact name='Address' isWide>{provider.protocol === 'sandbox' ? 'inside the gateway: it makes up answers, without a network' : <code>{provider.base_url}</code>}</Fact>
      </dl>
      {failure !== null && (
        <p class='notice bad'>
          <Time at={failure.at} /> {failure.model}: {[failure.status, failure.kind.replaceAll('_', ' '), failure.words].filter(part => part !== null).join(', ')}
          {' '}<a href={link('requests', failure.request)}>Request</a>
        </p>
      )}
      {deployments.length > 0 && (
        <SavedTable label={`Deployments at ${id}`} name={`deployments-${id}`} columns={columns} rows={deployments} keyOf={({ model }) => model} />
      )}
    </article>
  )
}

/** The chat models that are refused, and the line of gateway.yaml that sells them. */
function Unpriced ({ provider: { unpriced, unpriced_models: names } }: { provider: AdminProvider }): JSX.Element {
  return (
    <details>
      <summary>{unpriced.toLocaleString('en-US')} {unpriced === 1 ? 'chat model is' : 'chat models are'} refused</summary>
      <p>{names.join(', ')}{unpriced > names.length && ', …'}</p>
      <p>Set <code>price</code> for them in gateway.yaml, or sell them at the dearest price of their family: <code>unpriced: family</code></p>
    </details>
  )
}

const columns: readonly Column<Deployment>[] = [
  { name: 'Model there', cell: ({ model }) => model, csv: ({ model }) => model },
  { name: 'State', cell: ({ state }) => <ProviderState state={state} />, csv: ({ state }) => state },
  { name: 'Running', isNumber: true, isSecondary: true, cell: ({ running }) => running, csv: ({ running }) => running },
  { name: 'Calls', isNumber: true, cell: ({ calls }) => calls, csv: ({ calls }) => calls },
  { name: 'Failed calls', isNumber: true, cell: ({ failed_calls: failed }) => failed, csv: ({ failed_calls: failed }) => failed },
  { name: 'Half within', isNumber: true, isSecondary: true, cell: ({ p50_ms: ms }) => <Duration ms={ms} />, csv: ({ p50_ms: ms }) => ms },
  { name: '95 % within', isNumber: true, isSecondary: true, cell: ({ p95_ms: ms }) => <Duration ms={ms} />, csv: ({ p95_ms: ms }) => ms },
  { name: 'First token', isNumber: true, isSecondary: true, cell: ({ first_token_ms: ms }) => <Duration ms={ms} />, csv: ({ first_token_ms: ms }) => ms },
  { name: 'Tokens a second', isNumber: true, isSecondary: true, cell: ({ tokens_per_second: rate }) => rate?.toFixed(0) ?? '–', csv: ({ tokens_per_second: rate }) => rate }
]

function Probe ({ id }: { id: string }): JSX.Element {
  const [note, setNote] = useState('')
  async function probe (): Promise<void> {
    setNote('Asking…')
    try {
      const { reachable, duration_ms: ms, models, failure } = await call<ProviderProbe>(`/admin/providers/${encodeURIComponent(id)}/probe`, { method: 'POST' })
      setNote(reachable ? `Answered in ${duration(ms)}${models === null ? '' : ` with ${models} models`}` : failure?.message ?? 'No answer')
    } catch (error) {
      setNote(inWords(error))
    }
  }
  return <div class='actions'><span class='muted' role='status'>{note}</span><button type='button' onClick={() => { probe() }}>Try now</button></div>
}
