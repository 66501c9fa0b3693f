import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Account } from '../../../../schemas/admin/accounts.ts'
import type { KeyWithSecret } from '../../../../schemas/admin/keys.ts'
import { inWords } from '../../api/error.ts'
import { call } from '../../api/fetch.ts'
import { useList } from '../../api/list.ts'
import { choosePayer } from '../../api/session.ts'
import { Choice, Field } from '../../parts/field.tsx'
import { may } from '../../session.ts'

/** Lets an operator choose the key that pays for what is tried out. */
export function PayerForm (): JSX.Element {
  const [key, setKey] = useState('')
  const [problem, setProblem] = useState('')
  const choose = async (getKey: () => Promise<string>): Promise<void> => {
    setProblem('')
    try {
      await choosePayer(await getKey())
    } catch (error) {
      setProblem(inWords(error))
    }
  }
  return (
    <section class='narrow'>
      <p>An admin key pays for nothing, so requests from here need a user’s key. Its account is charged as for any other request.</p>
      <form
        class='stack' onSubmit={event => {
          event.preventDefault()
          choose(async () => key.trim())
        }}
      >
        <Field label='Key of a user' type='password' value={key} onValue={setKey} required autocomplete='off' />
        <div><button class='primary'>Pay with this key</button></div>
      </form>
      {may('operate') && <NewPlaygroundKey onKey={getKey => { choose(getKey) }} />}
      {problem !== '' && <p class='notice bad' role='alert'>{problem}</p>}
    </section>
  )
}

function NewPlaygroundKey ({ onKey }: { onKey (getKey: () => Promise<string>): void }): JSX.Element | null {
  const { rows } = useList<Account>('/admin/accounts', { limit: '1000' })
  const [chosen, setChosen] = useState('')
  const open = rows.filter(({ state }) => state === 'active')
  const account = chosen === '' ? open.find(({ id }) => id === 'default')?.id ?? open[0]?.id : chosen
  if (account === undefined) return null
  async function create (): Promise<string> {
    const made = await call<KeyWithSecret>('/admin/keys', { method: 'POST', body: { account, label: 'Playground' } })
    return made.key
  }
  return (
    <div class='stack'>
      <p class='muted'>Or create one, with the label Playground:</p>
      <Choice label='Account' value={account} onValue={setChosen} options={open.map(({ id, name }) => [id, name === id ? id : `${name} (${id})`])} />
      <div><button type='button' onClick={() => onKey(create)}>Create a key and use it</button></div>
    </div>
  )
}
