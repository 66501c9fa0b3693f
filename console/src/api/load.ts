import { useEffect, useState } from 'preact/hooks'
import { call, withQuery, type Query } from './fetch.ts'

export type Loaded<Answer> =
  | { state: 'loading', answer: Answer | null }
  | { state: 'ready', answer: Answer }
  | { state: 'failed', error: unknown, answer: null }

/** The answer to one GET; `reload` keeps the old answer until the next. A null path loads nothing. */
export function useLoad<Answer> (
  path: string | null, query: Query = {}
): Loaded<Answer> & { reload (): void } {
  const [loaded, setLoaded] = useState<Loaded<Answer>>({ state: 'loading', answer: null })
  const [version, setVersion] = useState(0)
  const address = path === null ? null : withQuery(path, query)
  useEffect(() => {
    if (address === null) return
    const controller = new AbortController()
    setLoaded(({ answer }) => ({ state: 'loading', answer: version === 0 ? null : answer }))
    call<Answer>(address, { signal: controller.signal }).then(answer => {
      setLoaded({ state: 'ready', answer })
    }).catch((error: unknown) => {
      if (!controller.signal.aborted) setLoaded({ state: 'failed', error, answer: null })
    })
    return () => controller.abort()
  }, [address, version])
  return { ...loaded, reload: () => setVersion(before => before + 1) }
}
