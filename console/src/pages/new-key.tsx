import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { KeyWithSecret } from '../../../schemas/admin/keys.ts'
import { inWords } from '../api/error.ts'
import { call } from '../api/fetch.ts'
import { AccountField } from '../parts/account-field.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Choice } from '../parts/field.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { typedBudget, useForm } from '../parts/form.ts'
import { may } from '../session.ts'
import { changeOf, KeyInputs, keyTexts, type KeyFieldName } from './key-fields.tsx'

/** Settings that only a key of a user has. */
const ofUsers: readonly KeyFieldName[] = ['budget', 'period', 'models']

/** Creates a key and shows its secret, once. */
export function NewKeyDialog ({ account, onClose }: { account: string, onClose (wasCreated: boolean): void }): JSX.Element {
  const [payer, setPayer] = useState(account)
  const [role, setRole] = useState('user')
  const form = useForm<KeyFieldName>(keyTexts(null))
  const [made, setMade] = useState<KeyWithSecret | null>(null)
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const isUser = role === 'user'
  const budget = isUser ? typedBudget(form.values) : ''
  function bodyOf (): object {
    // An admin key pays for nothing.
    const isSent: typeof form.isChanged = (...names) => form.isChanged(...names) && (isUser || names.every(name => !ofUsers.includes(name)))
    return { account: payer.trim(), label: '', ...!isUser && { role }, ...changeOf(form.values, isSent) }
  }
  async function create (event: SubmitEvent): Promise<void> {
    event.preventDefault()
    if (isBusy) return
    setProblem('')
    setBusy(true)
    try {
      setMade(await call<KeyWithSecret>('/admin/keys', { method: 'POST', body: bodyOf() }))
    } catch (error) {
      setProblem(inWords(error))
      setBusy(false)
    }
  }
  if (made !== null) return <SecretDialog title='The new key' secret={made.key} onClose={() => onClose(true)} />
  return (
    <Dialog title='New key' onClose={() => onClose(false)}>
      <form onSubmit={create}>
        <AccountField label='Account' value={payer} onValue={setPayer} />
        <KeyInputs form={form} isUser={isUser} hasLimits={false}>
          {may('own') && <Choice label='Role' value={role} onValue={setRole} options={['user', 'viewer', 'finance', 'operator', 'owner']} />}
        </KeyInputs>
        {problem !== '' && <p class='notice bad' role='alert'>{problem}</p>}
        <div class='actions'>
          <button class='primary' disabled={isBusy}>{budget === '' ? 'Create' : `Create: ${budget}`}</button>
          <button type='button' onClick={() => onClose(false)}>Cancel</button>
        </div>
      </form>
    </Dialog>
  )
}

/** Shows a secret that cannot be seen again. */
export function SecretDialog ({ title, secret, onClose }: { title: string, secret: string, onClose (): void }): JSX.Element {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class='stack'>
        <p>Copy it now: it is not shown again.</p>
        <pre tabIndex={0} aria-label='Secret'><code>{secret}</code></pre>
        <div class='actions'>
          <CopyButton text={secret} />
          <button type='button' class='primary' onClick={onClose}>I have copied it</button>
        </div>
      </div>
    </Dialog>
  )
}
