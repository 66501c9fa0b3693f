import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { KeyWithSecret } from '../../../schemas/admin/keys.ts'
import { inWords } from '../api/error.ts'
import { call } from '../api/fetch.ts'
import { limitAmountOf } from '../api/money.ts'
import { AccountField } from '../parts/account-field.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { typedBudget } from '../parts/form.ts'
import { may } from '../session.ts'

/** Creates a key and shows its secret, once. */
export function NewKeyDialog ({ account, onClose }: { account: string, onClose (wasCreated: boolean): void }): JSX.Element {
  const [form, setForm] = useState({ account, label: '', role: 'user', budget: '', period: 'month', models: '', expires: '' })
  const [made, setMade] = useState<KeyWithSecret | null>(null)
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const change = (part: Partial<typeof form>): void => setForm({ ...form, ...part })
  const budget = form.role === 'user' ? typedBudget(form) : ''
  async function create (event: SubmitEvent): Promise<void> {
    event.preventDefault()
    if (isBusy) return
    setProblem('')
    setBusy(true)
    try {
      setMade(await call<KeyWithSecret>('/admin/keys', { method: 'POST', body: bodyOf(form) }))
    } catch (error) {
      setProblem(inWords(error))
      setBusy(false)
    }
  }
  if (made !== null) return <SecretDialog title='The new key' secret={made.key} onClose={() => onClose(true)} />
  return (
    <Dialog title='New key' onClose={() => onClose(false)}>
      <form onSubmit={create}>
        <AccountField label='Account' value={form.account} onValue={value => change({ account: value })} />
        <Field label='Label' value={form.label} onValue={label => change({ label })} hint='What it is for, e.g. the app that uses it.' />
        {may('own') && <Choice label='Role' value={form.role} onValue={role => change({ role })} options={['user', 'viewer', 'finance', 'operator', 'owner']} />}
        {form.role === 'user' && (
          <>
            <div class='pair'>
              <Field label='Budget in US dollars' value={form.budget} onValue={budget => change({ budget })} placeholder='No limit' inputmode='decimal' />
              <Choice label='Per' value={form.period} onValue={period => change({ period })} options={['day', 'week', 'month', ['', 'in all']]} />
            </div>
            <Field label='Models' value={form.models} onValue={models => change({ models })} hint='Names or patterns such as openai/*, separated by commas. Empty: all.' />
          </>
        )}
        <Field label='Expires' type='date' value={form.expires} onValue={expires => change({ expires })} hint='Empty: never.' />
        {problem !== '' && <p class='notice bad' role='alert'>{problem}</p>}
        <div class='actions'>
          <button class='primary' disabled={isBusy}>{budget === '' ? 'Create' : `Create: ${budget}`}</button>
          <button type='button' onClick={() => onClose(false)}>Cancel</button>
        </div>
      </form>
    </Dialog>
  )
}

function bodyOf ({ account, label, role, budget, period, models, expires }: Record<string, string>): object {
  // An admin key pays for nothing.
  const isUser = role === 'user'
  const globs = (models ?? '').split(',').map(glob => glob.trim()).filter(glob => glob !== '')
  return {
    account: account?.trim(),
    label,
    ...role !== 'user' && { role },
    ...isUser && budget?.trim() && { budget: { amount_usd: limitAmountOf('Budget', budget), ...period !== '' && { period } } },
    ...isUser && globs.length > 0 && { models: globs },
    ...expires !== '' && { expires_at: expires }
  }
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
