import type { JSX } from 'preact'
import type { Model } from '../../../schemas/openai/models.ts'
import { useLoad } from '../api/load.ts'
import type { Page } from '../api/list.ts'
import { AddProvider } from '../parts/add-provider.tsx'
import { Choice } from '../parts/field.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { link, query, setQuery } from '../router.ts'
import { isUser, session } from '../session.ts'
import { ChatPlayground } from './playground/chat.tsx'
import { ImagePlayground } from './playground/image.tsx'
import { PayerForm } from './playground/payer.tsx'
import { VideoPlayground } from './playground/video.tsx'

const kinds = [['chat', 'Chat'], ['image', 'Image'], ['video', 'Video']] as const

/** Tries a chat, image or video model. */
export function PlaygroundPage (): JSX.Element {
  const payer = session.value?.payer ?? null
  return (
    <>
      <div class='head'>
        <h1>Playground</h1>
        {payer !== null && !isUser() && (
          <p class='muted'>Paid by <a href={link('accounts', payer.account)}>{payer.account}</a>, key <a href={link('keys', payer.key)}>{payer.label || payer.key}</a></p>
        )}
      </div>
      {payer === null ? <PayerForm /> : <Tryout />}
    </>
  )
}

function Tryout (): JSX.Element {
  const models = useLoad<Page<Model>>('/v1/models')
  const kind = kinds.find(([name]) => name === query.value['kind'])?.[0] ?? 'chat'
  if (models.state === 'failed') return <Failure error={models.error} retry={models.reload} />
  if (models.answer === null) return <Loading />
  const offered = models.answer.data.filter(model => model.kind === kind)
  const names = offered.map(({ id }) => id)
  const isSandboxOnly = models.answer.data.every(({ owned_by: owner }) => owner === 'sandbox' || owner === 'tollgate')
  const preferred = isSandboxOnly ? `sandbox-${kind}` : names[0] ?? ''
  const model = names.find(name => name === query.value['model']) ?? preferred
  return (
    <>
      <div class='tabs' role='group' aria-label='What to make'>
        {kinds.map(([name, title]) => (
          <a key={name} href={link('playground', { kind: name })} {...name === kind && { 'aria-current': 'true' as const }}>{title}</a>
        ))}
      </div>
      {isSandboxOnly && <AddProvider isInPlayground />}
      {offered.length === 0
        ? <Empty title={`No model makes ${kind}s for this key`}><p>The key may be limited to some models, or no provider has one.</p></Empty>
        : (
          <>
            <div class='narrow'><Choice label='Model' value={model} onValue={name => setQuery({ model: name })} options={names} /></div>
            {kind === 'chat' && <ChatPlayground model={model} />}
            {kind === 'image' && <ImagePlayground model={model} />}
            {kind === 'video' && <VideoPlayground model={model} />}
          </>
          )}
    </>
  )
}
