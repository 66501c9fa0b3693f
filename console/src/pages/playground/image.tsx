import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ImagesResponse } from '../../../../schemas/openai/images-generations.ts'
import { inWords } from '../../api/error.ts'
import { send } from '../../api/fetch.ts'
import { Area, Choice, Field } from '../../parts/field.tsx'
import { Code } from './code.tsx'
import { Outcome, resultOf, type Result } from './result.tsx'

/** Images of an image model. */
export function ImagePlayground ({ model }: { model: string }): JSX.Element {
  const [prompt, setPrompt] = useState('')
  const [size, setSize] = useState('')
  const [count, setCount] = useState('1')
  const [images, setImages] = useState<ImagesResponse['data']>([])
  const [result, setResult] = useState<Result | null>(null)
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const body = { model, prompt, ...size !== '' && { size }, ...count !== '1' && { n: Number(count) } }

  async function draw (): Promise<void> {
    setBusy(true)
    setProblem('')
    setImages([])
    setResult(null)
    try {
      const startedAt = performance.now()
      const response = await send('/v1/images/generations', { method: 'POST', body })
      const { data, error }: ImagesResponse = await response.json()
      setImages(data)
      setResult(resultOf(response, startedAt))
      if (error !== undefined) setProblem(error.message)
    } catch (error) {
      setProblem(inWords(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <div class='two'>
      <form
        class='stack' onSubmit={event => {
          event.preventDefault()
          draw()
        }}
      >
        <Area label='Prompt' value={prompt} onValue={setPrompt} required onSubmit={() => { if (prompt !== '' && !isBusy) draw() }} hint='⌘ or Ctrl with Enter sends it.' />
        <div class='filters'>
          <Field label='Size' value={size} onValue={setSize} placeholder='1024x1024' pattern='\d+x\d+|auto' />
          <Choice label='Images' value={count} onValue={setCount} options={['1', '2', '4']} />
        </div>
        <div><button class='primary' disabled={isBusy}>Draw</button></div>
      </form>
      <div class='stack'>
        {isBusy && <p role='status' class='muted'>Drawing…</p>}
        {!isBusy && images.length === 0 && problem === '' && <p class='muted'>The image appears here.</p>}
        <div class='pictures'>
          {images.map(({ url, b64_json: bytes, revised_prompt: made }, index) => {
            const source = url ?? `data:image/png;base64,${bytes ?? ''}`
            return <a key={index} href={source} target='_blank' rel='noreferrer'><img src={source} alt={made} /></a>
          })}
        </div>
        {problem !== '' && <p class='notice bad' role='alert'>{problem}</p>}
        {result !== null && <Outcome result={result} />}
        {prompt !== '' && <Code operation='image' body={body} />}
      </div>
    </div>
  )
}
