import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { RoutingDecision } from '../../../schemas/openai/routing.ts'
import { inWords } from '../api/error.ts'
import { call } from '../api/fetch.ts'
import { Area } from '../parts/field.tsx'
import { SavedTable, type Column } from '../parts/table.tsx'
import { Duration } from '../parts/time.tsx'
import { isUser, session } from '../session.ts'
import { PayerForm } from './playground/payer.tsx'

type Candidate = RoutingDecision['candidates'][number]

const policies = ['auto', 'auto:cost', 'auto:quality', 'auto:speed'] as const

interface Outcome {
  policy: string
  decision: RoutingDecision | null
  problem: string
}

/** Which model each policy would choose for a prompt, and why; calls no provider. */
export function RoutingPage (): JSX.Element {
  const [prompt, setPrompt] = useState('')
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([])
  const [isBusy, setBusy] = useState(false)
  async function compare (): Promise<void> {
    setBusy(true)
    setOutcomes(await Promise.all(policies.map(async policy => await decide(policy, prompt))))
    setBusy(false)
  }
  const needsPayer = session.value?.payer == null && !isUser()
  return (
    <>
      <h1>Routing</h1>
      <p class='muted'>For a prompt, what each policy of auto would choose: no provider is called and nothing is charged.</p>
      {needsPayer && <PayerForm />}
      {!needsPayer && (
        <form
          class='stack' onSubmit={event => {
            event.preventDefault()
            compare()
          }}
        >
          <Area label='Prompt' value={prompt} onValue={setPrompt} required onSubmit={() => { if (prompt !== '') compare() }} hint='⌘ or Ctrl with Enter compares.' />
          <div><button class='primary' disabled={isBusy}>Compare</button></div>
        </form>
      )}
      <div class='columns'>{outcomes.map(outcome => <PolicyView key={outcome.policy} outcome={outcome} />)}</div>
    </>
  )
}

async function decide (model: string, prompt: string): Promise<Outcome> {
  const body = { model, messages: [{ role: 'user', content: prompt }] }
  try {
    return { policy: model, decision: await call<RoutingDecision>('/v1/routing/decisions', { method: 'POST', body }), problem: '' }
  } catch (error) {
    return { policy: model, decision: null, problem: inWords(error) }
  }
}

function PolicyView ({ outcome: { policy, decision, problem } }: { outcome: Outcome }): JSX.Element {
  return (
    <section>
      <h2>{policy}</h2>
      {problem !== '' && <p class='notice bad' role='alert'>{problem}</p>}
      {decision !== null && (
        <>
          <p><strong>{decision.model}</strong><br /><span class='muted'>{decision.summary}</span></p>
          <SavedTable
            label={`Candidates of ${policy}`} name={`routing-${policy.replace(':', '-')}`} columns={columns} rows={decision.candidates}
            keyOf={({ model }) => model}
          />
          {decision.omitted > 0 && <p class='muted'>{decision.omitted} more models.</p>}
        </>
      )}
    </section>
  )
}

const columns: readonly Column<Candidate>[] = [
  { name: 'Model', cell: ({ model, excluded_by: reason }) => <>{model}{reason !== null && <small class='muted'> excluded by {reason.replaceAll('_', ' ')}</small>}</>, csv: ({ model }) => model },
  { name: 'Excluded by', csv: ({ excluded_by: reason }) => reason },
  { name: 'Quality', isNumber: true, cell: ({ quality, basis }) => quality === null ? '–' : <span title={basis ?? ''}>{quality.toFixed(2)}</span>, csv: ({ quality }) => quality },
  { name: 'Basis', csv: ({ basis }) => basis },
  { name: 'Cost', isNumber: true, cell: ({ cost_usd: cost }) => cost === null ? '–' : `$${cost.toPrecision(2)}`, csv: ({ cost_usd: cost }) => cost },
  { name: 'Time', isNumber: true, cell: ({ latency_ms: ms }) => <Duration ms={ms} />, csv: ({ latency_ms: ms }) => ms },
  { name: 'Score', isNumber: true, cell: ({ score }) => score?.toFixed(2) ?? '–', csv: ({ score }) => score }
]
