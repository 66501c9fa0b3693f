import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { KeyWithSecret } from '../../../schemas/admin/keys.ts'
import { call } from '../api/fetch.ts'
import { useLoad } from '../api/load.ts'
import { Action, Opener } from '../parts/action.tsx'
import { Choice, Fact } from '../parts/field.tsx'
import { Failure, Loading } from '../parts/states.tsx'
import { Time } from '../parts/time.tsx'
import { link } from '../router.ts'
import { may } from '../session.ts'
import { SettingFacts } from './key-fields.tsx'
import { KeySettings } from './key-settings.tsx'
import { KeyState, type KnownKey } from './key-state.tsx'
import { SecretDialog } from './new-key.tsx'

const graces = [['0', 'at once'], ['3600', 'in an hour'], ['86400', 'in a day'], ['604800', 'in a week']] as const

/** One key: what it may do and what it has spent. */
export function KeyPage ({ id }: { id: string }): JSX.Element {
  const path = `/admin/keys/${encodeURIComponent(id)}`
  const loaded = useLoad<KnownKey>(path)
  const { reload } = loaded
  const [grace, setGrace] = useState('86400')
  const [secret, setSecret] = useState<string | null>(null)
  const key = loaded.answer
  async function rotate (): Promise<void> {
    const made = await call<KeyWithSecret>(`${path}/rotate`, { method: 'POST', body: { grace_seconds: Number(grace) } })
    setSecret(made.key)
    reload()
  }
  async function revoke (): Promise<void> {
    await call(`${path}/revoke`, { method: 'POST' })
    reload()
  }
  return (
    <>
      <p><a href={link('keys')}>Keys</a></p>
      <h1>{key === null || key.label === '' ? <code>{id}</code> : key.label}</h1>
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={reload} />}
      {loaded.state === 'loading' && key === null && <Loading />}
      {key !== null && (
        <article>
          <p class='lead'><KeyState keyOf={key} /> <code>{key.id}</code></p>
          <Facts keyOf={key} />
          {may(key.role === 'user' ? 'operate' : 'own') && key.revoked_at === null && (
            <div class='actions'>
              <Opener label='Settings…'>{close => <KeySettings keyOf={key} onChange={() => reload()} onClose={close} />}</Opener>
              <Action label='Rotate…' title='Give the key a new secret' does='Rotate' run={rotate}>
                <p>The id, the budget and the account stay. Programs need the new secret before the old one ends.</p>
                <Choice label='The old secret ends' value={grace} onValue={setGrace} options={graces} />
              </Action>
              <Action label='Revoke…' title='Revoke the key for good' does='Revoke' confirm={key.label === '' ? key.id : key.label} run={revoke}>
                <p>Programs that use it are refused at once. It cannot be brought back.</p>
              </Action>
            </div>
          )}
        </article>
      )}
      {secret !== null && <SecretDialog title='The new secret' secret={secret} onClose={() => setSecret(null)} />}
    </>
  )
}

function Facts ({ keyOf: key }: { keyOf: KnownKey }): JSX.Element {
  return (
    <dl class='facts'>
      <Fact name='Account'><a href={link('accounts', key.account)}>{key.account}</a></Fact>
      <Fact name='Role'>{key.role}</Fact>
      <SettingFacts keyOf={key} />
      <Fact name='Created'><Time at={key.created_at} /></Fact>
      <Fact name='Last used'><Time at={key.last_used_at} /></Fact>
      {key.previous_until !== null && <Fact name='Old secret until'><Time at={key.previous_until} /></Fact>}
      {key.revoked_at !== null && <Fact name='Revoked'><Time at={key.revoked_at} /></Fact>}
      <Fact name='Requests'><a href={link('requests', { key: key.id })}>See the log</a></Fact>
      <Fact name='Usage'><a href={link('usage', { key: key.id, by: 'model' })}>See what it spent</a></Fact>
    </dl>
  )
}
