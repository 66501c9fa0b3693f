import type { Static } from '@sinclair/typebox'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { VideoObject } from '../../../../schemas/openai/videos.ts'
import { inWords } from '../../api/error.ts'
import { call, send } from '../../api/fetch.ts'
import { Area, Field } from '../../parts/field.tsx'
import { link } from '../../router.ts'
import { Code } from './code.tsx'
import { PictureField } from './picture.tsx'
import { Outcome, resultOf, type Result } from './result.tsx'

type Video = Static<typeof VideoObject>

const pollMs = 1000

/** A video of a video model, with its progress. */
export function VideoPlayground ({ model }: { model: string }): JSX.Element {
  const [prompt, setPrompt] = useState('')
  const [seconds, setSeconds] = useState('')
  const [picture, setPicture] = useState<string | null>(null)
  const [video, setVideo] = useState<Video | null>(null)
  const [source, setSource] = useState<string | null>(null)
  const [result, setResult] = useState<Result | null>(null)
  const [problem, setProblem] = useState('')
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  useEffect(() => () => { if (source !== null) URL.revokeObjectURL(source) }, [source])
  const isBusy = problem === '' && source === null && video !== null
  const body = { model, prompt, ...seconds !== '' && { seconds }, ...picture !== null && { input_reference: picture } }

  async function make (): Promise<void> {
    running.current?.abort()
    const { signal } = running.current = new AbortController()
    setProblem('')
    setVideo(null)
    setSource(null)
    setResult(null)
    try {
      const startedAt = performance.now()
      const response = await send('/v1/videos', { method: 'POST', body, signal })
      let now: Video = await response.json()
      while (now.status === 'queued' || now.status === 'in_progress') {
        setVideo(now)
        setResult(resultOf(response, startedAt))
        await new Promise(resolve => setTimeout(resolve, pollMs))
        now = await call<Video>(`/v1/videos/${now.id}`, { signal })
      }
      setVideo(now)
      if (now.error !== null) throw new Error(now.error.message)
      setResult({ ...resultOf(response, startedAt), cost: now.usage === null ? null : String(now.usage.cost) })
      const content = await send(`/v1/videos/${now.id}/content`, { signal })
      setSource(URL.createObjectURL(await content.blob()))
    } catch (error) {
      if (!signal.aborted) setProblem(inWords(error))
    }
  }

  return (
    <div class='two'>
      <form
        class='stack' onSubmit={event => {
          event.preventDefault()
          make()
        }}
      >
        <Area label='Prompt' value={prompt} onValue={setPrompt} required onSubmit={() => { if (prompt !== '' && !isBusy) make() }} hint='⌘ or Ctrl with Enter sends it.' />
        <Field label='Seconds' value={seconds} onValue={setSeconds} pattern='[1-9]\d{0,3}' hint='Empty: what the model makes by default.' />
        <PictureField label='First frame' value={picture} onValue={setPicture} />
        <div><button class='primary' disabled={isBusy}>Make the video</button></div>
      </form>
      <div class='stack'>
        {video === null && problem === '' && <p class='muted'>The video appears here when it is ready. It goes on if you leave.</p>}
        {video !== null && source === null && problem === '' && (
          <div class='stack'>
            <label for='progress'>{video.status === 'completed' ? 'Loading the video' : video.status.replace('_', ' ')}, {video.progress} %</label>
            <progress id='progress' max='100' value={video.progress} />
          </div>
        )}
        {source !== null && <video controls autoplay loop muted src={source} aria-label={prompt} />}
        {video !== null && <p>Job <a href={link('jobs', video.id)}>{video.id}</a></p>}
        {problem !== '' && <p class='notice bad' role='alert'>{problem}</p>}
        {result !== null && <Outcome result={result} />}
        {prompt !== '' && <Code operation='video' body={body} />}
      </div>
    </div>
  )
}
