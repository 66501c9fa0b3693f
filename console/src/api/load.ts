import { useEffect, useRef, useState } from 'preact/hooks'
import { call, withQuery, type Query } from './fetch.ts'

export type Loaded<Answer> =
  | { state: 'loading', answer: Answer | null }
  | { state: 'ready', answer: Answer }
  | { state: 'failed', error: unknown, answer: null }

/**
 * The answer to one GET; `reload` or another query keep the old answer until the next. A null path loads
 * nothing.
 */
export function useLoad<Answer> (
  path: string | null, query: Query = {}
): Loaded<Answer> & { reload (): void } {
  const [loaded, setLoaded] = useState<Loaded<Answer>>({ state: 'loading', answer: null })
  const [version, setVersion] = useState(0)
  const before = useRef(path)
  const address = path === null ? null : withQuery(path, query)
  useEffect(() => {
    if (address === null) return
    const controller = new AbortController()
    const isSame = before.current === path
    before.current = path
    setLoaded(({ answer }) => ({ state: 'loading', answer: isSame ? answer : null }))
    call<Answer>(address, { signal: controller.signal }).then(answer => {
      setLoaded({ state: 'ready', answer })
    }).catch((error: unknown) => {
      if (!controller.signal.aborted) setLoaded({ state: 'failed', error, answer: null })
    })
    return () => controller.abort()
  }, [address, version])
  return { ...loaded, reload: () => setVersion(before => before + 1) }
}
