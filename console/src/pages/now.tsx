import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LiveFigures } from '../../../schemas/admin/live.ts'
import { useLive } from '../api/live.ts'
import type { Received } from '../api/received.ts'
import { AddProvider } from '../parts/add-provider.tsx'
import { Fact } from '../parts/field.tsx'
import { Money } from '../parts/money.tsx'
import { Sparkline } from '../parts/sparkline.tsx'
import { Failure, Loading } from '../parts/states.tsx'
import { Time } from '../parts/time.tsx'
import { link } from '../router.ts'
import { ProviderState } from './providers.tsx'

type Figures = Received<LiveFigures>

const kept = 60

/** What happens now. */
export function NowPage (): JSX.Element {
  const { event, error } = useLive<Figures>('/admin/live')
  const [rates, setRates] = useState<readonly number[]>([])
  useEffect(() => {
    if (event !== null) setRates(before => [...before, event.requests_per_second].slice(-kept))
  }, [event])
  return (
    <>
      <div class='head'>
        <h1>Now</h1>
        {event !== null && <p class='muted'>As of <Time at={event.at} /></p>}
      </div>
      {error !== null && <Failure error={error}><p>The page connects again every two seconds.</p></Failure>}
      {event === null && error === null && <Loading />}
      {event !== null && <LiveView figures={event} rates={rates} />}
    </>
  )
}

function LiveView ({ figures, rates }: { figures: Figures, rates: readonly number[] }): JSX.Element {
  const { node } = figures
  const from = new Date(Date.parse(figures.at) - 60_000).toISOString()
  return (
    <>
      <dl class='facts big'>
        <Fact name='Requests per second'><a href={link('requests', { from })}>{figures.requests_per_second.toFixed(2)}</a></Fact>
        <Fact name='Failed, last minute'><a href={link('requests', { outcome: 'error', from })}>{(figures.error_rate * 100).toFixed(1)} %</a></Fact>
        <Fact name='Spent today (UTC)'><a href={link('usage', { days: '1' })}><Money nano={figures.spent_today_nano} /></a></Fact>
        <Fact name='Running jobs'><a href={link('jobs', { state: 'live' })}>{figures.running_jobs}</a></Fact>
      </dl>
      <Sparkline label='Requests per second since this page was opened' values={rates} />
      <dl class='facts'>
        <Fact name='Under way on this node'>{node.requests} requests</Fact>
        <Fact name='Streams'>{node.streams}</Fact>
        <Fact name='Long polls'>{node.polls}</Fact>
        <Fact name='Waiting clients'><a href={link('jobs', { state: 'live' })}>{figures.waiting_clients}</a></Fact>
      </dl>
      <h2>Providers</h2>
      {figures.providers.length === 0
        ? <AddProvider />
        : (
          <ul class='lamps'>
            {figures.providers.map(({ id, state }) => (
              <li key={id}><a href={link('providers', id)}>{id}</a> <ProviderState state={state} /></li>
            ))}
          </ul>
          )}
      {figures.providers.length === 1 && figures.providers[0]?.id === 'sandbox' && <AddProvider />}
    </>
  )
}
