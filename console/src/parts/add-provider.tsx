import type { JSX } from 'preact'
import { link } from '../router.ts'

/** How to add a provider, for a gateway where the sandbox alone answers. */
export function AddProvider ({ isInPlayground = false }: { isInPlayground?: boolean }): JSX.Element {
  return (
    <div class='notice'>
      <p>There is no provider yet, so the sandbox answers: it makes up answers, costs next to nothing and needs no network.</p>
      <p>
        To add one, start the gateway with its key in the environment, e.g. <code>OPENAI_API_KEY=sk-… npm start</code>, or write
        a <code>gateway.yaml</code>.{!isInPlayground && <> Until then, try the sandbox in the <a href={link('playground')}>playground</a>.</>}
      </p>
    </div>
  )
}
