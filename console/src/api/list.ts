import { useEffect, useRef, useState } from 'preact/hooks'
import { call, withQuery, type Query } from './fetch.ts'

export interface Page<Row> {
  data: Row[]
  has_more: boolean
  next: string | null
}

export interface List<Row> {
  /** While other ones are loading, those until now. */
  rows: readonly Row[]
  state: 'loading' | 'ready' | 'failed'
  error: unknown
  hasMore: boolean
  /** Fetches the next page and appends it. */
  more (): void
  /** Fetches the first page again. */
  reload (): void
}

const pageSize = '50'

/**
 * A list paged by the server's cursor; starts again when path, query or version change. A null path loads
 * nothing.
 */
export function useList<Row> (path: string | null, query: Query = {}, version = 0): List<Row> {
  const [rows, setRows] = useState<readonly Row[]>([])
  const [next, setNext] = useState<string | null>(null)
  const [state, setState] = useState<List<Row>['state']>('loading')
  const [error, setError] = useState<unknown>(null)
  const [reloads, setReloads] = useState(0)
  const current = useRef<AbortController>(undefined)
  const address = path === null ? null : withQuery(path, query)

  function load (after: string | null): void {
    if (path === null) return
    current.current?.abort()
    const controller = new AbortController()
    current.current = controller
    setState('loading')
    const paged = { limit: pageSize, ...query, ...after !== null && { after } }
    call<Page<Row>>(path, { query: paged, signal: controller.signal }).then(page => {
      setRows(before => after === null ? page.data : [...before, ...page.data])
      setNext(page.has_more ? page.next : null)
      setState('ready')
    }).catch((error: unknown) => {
      if (controller.signal.aborted) return
      if (after === null) setRows([])
      setError(error)
      setState('failed')
    })
  }

  useEffect(() => {
    load(null)
    return () => current.current?.abort()
  }, [address, version, reloads])

  return {
    rows,
    state,
    error,
    hasMore: next !== null,
    more: () => { if (state !== 'loading') load(next) },
    reload: () => setReloads(before => before + 1)
  }
}

/** Resolves with all rows of a list, at most `max`, and whether that is all. Throws ApiError. */
export async function fetchAll<Row> (
  path: string, query: Query, max: number
): Promise<{ rows: Row[], isAll: boolean }> {
  const rows: Row[] = []
  let after: string | undefined
  do {
    const page: Page<Row> = await call(path, { query: { ...query, limit: '1000', after } })
    rows.push(...page.data)
    after = page.has_more ? page.next ?? undefined : undefined
  } while (after !== undefined && rows.length < max)
  return { rows: rows.slice(0, max), isAll: after === undefined }
}
