import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { inWords } from '../../api/error.ts'
import { readEvents } from '../../api/events.ts'
import { send } from '../../api/fetch.ts'
import { Area } from '../../parts/field.tsx'
import { PictureField } from './picture.tsx'
import { chatRequest, extended, noAnswer, type Answer, type ChatForm, type Chunk, type Turn } from './chat-request.ts'
import { Code } from './code.tsx'
import { Outcome, resultOf, type Result } from './result.tsx'

const blank: ChatForm = { prompt: '', system: '', tools: '', schema: '', image: null, isStreamed: true }

/** A conversation with a chat model. */
export function ChatPlayground ({ model }: { model: string }): JSX.Element {
  const [form, setForm] = useState(blank)
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const [answer, setAnswer] = useState<Answer | null>(null)
  const [result, setResult] = useState<Result | null>(null)
  const [problem, setProblem] = useState('')
  const [sent, setSent] = useState<Readonly<Record<string, unknown>> | null>(null)
  const running = useRef<AbortController | null>(null)
  const [isBusy, setBusy] = useState(false)
  useEffect(() => () => running.current?.abort(), [])
  const change = (part: Partial<ChatForm>): void => setForm(before => ({ ...before, ...part }))

  async function ask (): Promise<void> {
    const controller = running.current = new AbortController()
    setProblem('')
    setResult(null)
    setBusy(true)
    try {
      const body = chatRequest(model, turns, form)
      setSent(body)
      setAnswer(noAnswer)
      const startedAt = performance.now()
      const response = await send('/v1/chat/completions', { method: 'POST', body, signal: controller.signal })
      setResult(resultOf(response, startedAt))
      let whole = noAnswer
      for await (const chunk of chunksOf(response)) {
        whole = extended(whole, chunk)
        setAnswer(whole)
      }
      setResult({ ...resultOf(response, startedAt), cost: whole.cost === null ? response.headers.get('x-tollgate-cost') : costText(whole.cost) })
      const asked = body['messages'] as Turn[]
      setTurns([...asked.filter(({ role }) => role !== 'system'), { role: 'assistant', content: whole.text }])
      change({ prompt: '', image: null })
    } catch (error) {
      if (!controller.signal.aborted) setProblem(inWords(error))
    } finally {
      setBusy(false)
    }
  }

  function restart (): void {
    setTurns([])
    setAnswer(null)
    setResult(null)
    setSent(null)
    setProblem('')
  }

  return (
    <div class='two'>
      <form
        class='stack' onSubmit={event => {
          event.preventDefault()
          ask()
        }}
      >
        <Area
          label='Prompt' value={form.prompt} onValue={prompt => change({ prompt })} required
          onSubmit={() => { if (form.prompt !== '' && !isBusy) ask() }} hint='⌘ or Ctrl with Enter sends it.'
        />
        <div class='actions'>
          <button class='primary' disabled={isBusy}>Send</button>
          {isBusy && <button type='button' onClick={() => running.current?.abort()}>Stop</button>}
          {turns.length > 0 && !isBusy && <button type='button' onClick={restart}>New conversation</button>}
          <label class='check'>
            <input type='checkbox' checked={form.isStreamed} onChange={event => change({ isStreamed: event.currentTarget.checked })} /> Stream
          </label>
        </div>
        <details>
          <summary>System prompt, picture, tools, JSON schema</summary>
          <div class='stack'>
            <Area label='System prompt' value={form.system} onValue={system => change({ system })} />
            <PictureField label='Picture' value={form.image} onValue={image => change({ image })} />
            <Area label='Tools' value={form.tools} onValue={tools => change({ tools })} hint='A JSON array, as in the field tools.' isCode />
            <Area label='JSON schema' value={form.schema} onValue={schema => change({ schema })} hint='The answer will follow it.' isCode />
          </div>
        </details>
      </form>
      <div class='stack'>
        {turns.length === 0 && answer === null && problem === '' && <p class='muted'>The answer appears here as it is written.</p>}
        <Conversation turns={isBusy || problem !== '' ? turns : turns.slice(0, -1)} asked={isBusy ? form.prompt : null} />
        {answer !== null && <AnswerView answer={answer} isBusy={isBusy} />}
        {problem !== '' && <p class='notice bad' role='alert'>{problem}</p>}
        {result !== null && <Outcome result={result} />}
        {sent !== null && <Code operation='chat' body={sent} />}
      </div>
    </div>
  )
}

async function * chunksOf (response: Response): AsyncGenerator<Chunk> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (!isStream || response.body === null) return yield await response.json()
  for await (const data of readEvents(response.body)) {
    if (data !== '[DONE]') yield JSON.parse(data)
  }
}

/** US dollars without an exponent. */
function costText (cost: number): string {
  return cost.toFixed(9).replace(/\.?0+$/, '')
}

function Conversation ({ turns, asked }: { turns: readonly Turn[], asked: string | null }): JSX.Element {
  const all = asked === null ? turns : [...turns, { role: 'user' as const, content: asked }]
  return <>{all.map((turn, index) => <p key={index} class={`turn ${turn.role}`}>{textOf(turn.content)}</p>)}</>
}

function textOf (content: unknown): string {
  if (!Array.isArray(content)) return String(content)
  return content.map((part: { text?: string }) => part.text ?? '[picture]').join('\n')
}

function AnswerView ({ answer: { text, calls, reason }, isBusy }: { answer: Answer, isBusy: boolean }): JSX.Element {
  return (
    <div class='turn assistant' aria-live='polite' aria-busy={isBusy} data-testid='answer'>
      {text}
      {calls.map(({ name, arguments: given }, index) => <pre key={index} tabIndex={0} aria-label={`Call of ${name}`}><code>{name}({given})</code></pre>)}
      {reason !== null && reason !== 'stop' && <small class='muted'>Ended by: {reason.replaceAll('_', ' ')}</small>}
    </div>
  )
}
