import type { JSX } from 'preact'
import { Fact } from '../../parts/field.tsx'
import { duration } from '../../parts/time.tsx'
import { link } from '../../router.ts'

/** What there is to know of an answer besides itself. */
export interface Result {
  status: number
  headers: readonly (readonly [string, string])[]
  /** In US dollars; null while it is not known. */
  cost: string | null
  ms: number
}

/** The facts in the head of a response. */
export function resultOf ({ status, headers }: Response, startedAt: number): Result {
  return { status, headers: [...headers], cost: headers.get('x-tollgate-cost'), ms: performance.now() - startedAt }
}

/** Cost, duration and headers of an answer, and the way to its request. */
export function Outcome ({ result }: { result: Result }): JSX.Element {
  const named = Object.fromEntries(result.headers)
  const id = named['x-request-id']
  return (
    <section aria-label='Outcome'>
      <dl class='facts'>
        <Fact name='Cost'>{result.cost === null ? '–' : `$${result.cost}`}</Fact>
        <Fact name='Duration'>{duration(result.ms)}</Fact>
        <Fact name='Model'>{named['x-tollgate-model'] ?? '–'}</Fact>
        {id !== undefined && <Fact name='Request' isWide><a href={link('requests', id)}>{id}</a></Fact>}
      </dl>
      <details>
        <summary>Headers</summary>
        <pre tabIndex={0} aria-label='Headers'><code>{result.headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</code></pre>
      </details>
    </section>
  )
}
