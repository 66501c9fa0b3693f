import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { signIn } from '../api/session.ts'
import { inWords } from '../api/error.ts'
import { Field } from '../parts/field.tsx'
import { hasEnded, identityProvider } from '../session.ts'

/** Asks for a key. It goes to the gateway once, which answers with a cookie that scripts cannot read. */
export function SignIn (): JSX.Element {
  const [key, setKey] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    document.title = 'Sign in – Tollgate'
    form.current?.querySelector('input')?.focus()
  }, [])

  async function submit (event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setBusy(true)
    setProblem('')
    await signIn(key.trim()).catch(error => {
      setProblem(inWords(error))
      setKey('')
      form.current?.querySelector('input')?.focus()
    })
    setBusy(false)
  }

  return (
    <main class='sign-in' id='main'>
      <h1>Tollgate</h1>
      {hasEnded.value && <p class='notice' role='status'>Your session has ended. Sign in to go on where you were.</p>}
      <form ref={form} onSubmit={submit}>
        <Field
          label='Key' type='password' value={key} onValue={setKey} required autocomplete='current-password' name='key'
          hint='The key that the first start printed is a user’s, which shows its own account. For the whole gateway: npx tollgate keys create --role owner'
        />
        {problem !== '' && <p class='notice bad' role='alert'>{problem}</p>}
        <button class='primary' disabled={isBusy}>Sign in</button>
      </form>
      {identityProvider.value !== null && <a class='button' href={identityProvider.value.path} target='_self'>Sign in with {identityProvider.value.label}</a>}
    </main>
  )
}
