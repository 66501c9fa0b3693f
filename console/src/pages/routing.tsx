import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { RoutingComparison, RoutingDecision } from '../../../schemas/openai/routing.ts'
import { inWords } from '../api/error.ts'
import { call } from '../api/fetch.ts'
import { Area } from '../parts/field.tsx'
import { SavedTable, type Column } from '../parts/table.tsx'
import { Duration } from '../parts/time.tsx'
import { isUser } from '../session.ts'

type Candidate = RoutingDecision['candidates'][number]
type Outcome = RoutingComparison['decisions'][number]

/** Which model each policy would choose for a prompt, and why; calls no provider. */
export function RoutingPage (): JSX.Element {
  const [prompt, setPrompt] = useState('')
  const [weight, setWeight] = useState<number | null>(null)
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([])
  const [problem, setProblem] = useState('')
  async function compare (costQuality = weight): Promise<void> {
    if (prompt === '') return
    setProblem('')
    const routing = costQuality === null ? {} : { routing: { cost_quality: costQuality } }
    const body = { messages: [{ role: 'user', content: prompt }], ...routing }
    try {
      // An operator compares all models, a user those of the key.
      const path = `${isUser() ? '/v1' : '/admin'}/routing/comparisons`
      const { decisions } = await call<RoutingComparison>(path, { method: 'POST', body })
      setOutcomes(decisions)
    } catch (error) {
      setProblem(inWords(error))
    }
  }
  function weigh (value: number | null): void {
    setWeight(value)
    if (outcomes.length > 0) compare(value)
  }
  return (
    <>
      <h1>Routing</h1>
      <p class='muted'>What each policy of auto would choose for a prompt. No provider is called and nothing is charged.</p>
      <form
        class='stack' onSubmit={event => {
          event.preventDefault()
          compare()
        }}
      >
        <Area label='Prompt' value={prompt} onValue={setPrompt} required onSubmit={() => { compare() }} hint='⌘ or Ctrl with Enter compares.' />
        <div class='actions'>
          <button class='primary'>Compare</button>
          <label class='weight'>Lowest cost
            <input
              type='range' min='0' max='10' step='1' value={weight ?? 5} aria-label='What counts more, from cost to quality'
              onChange={event => weigh(Number(event.currentTarget.value))}
            /> Best quality
          </label>
          {weight !== null && <button type='button' class='plain' onClick={() => weigh(null)}>As each policy has it</button>}
        </div>
      </form>
      {problem !== '' && <p class='notice bad' role='alert'>{problem}</p>}
      <div class='columns'>{outcomes.map(outcome => <PolicyView key={outcome.policy} outcome={outcome} />)}</div>
    </>
  )
}

function PolicyView ({ outcome: { policy, decision, error } }: { outcome: Outcome }): JSX.Element {
  return (
    <section>
      <h2>{policy}</h2>
      {error !== null && <p class='notice bad'>{error.message}</p>}
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
