import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { watchDirectories } from './directory-watch.ts'
import { maxFileBytes } from '../load.ts'

interface WatchOptions<Config> {
  path: string
  load: () => Config | Promise<Config>
  onChange: (config: Config) => void | Promise<void>
  /** Called for an invalid file (ConfigError), an error of `onChange`, and a broken watch. */
  onError: (error: Error) => void
  /** The loaded configuration. If the file differs when the watch starts, `onChange` is called. */
  running?: Config
}

/** An editor writes in several steps: wait until the file has not changed for `ms`, but at most `maxMs`. */
const debounceTime = { ms: 100, maxMs: 1000 }

/**
 * Watches the directory of a file, because editors and Kubernetes replace the file. Without `running`, start
 * watching before the first load, so that no change is missed.
 */
export function watchConfig<Config> ({ path, load, onChange, onError, running }: WatchOptions<Config>) {
  let loaded: string | null = null
  let closed = false
  let queue = Promise.resolve()

  /** Runs one load at a time; a change during a load is found by the check queued behind it. */
  function enqueue (work: () => Promise<void>): Promise<void> {
    const next = () => closed ? undefined : work()
    queue = queue.then(next, next)
    return queue
  }

  async function apply (isNew: (config: Config) => boolean = () => true) {
    // Taken before the load, so that a change during the load causes another one.
    loaded = fingerprint(path)
    try {
      const config = await load()
      if (!closed && isNew(config)) await onChange(config)
    } catch (error) {
      if (!closed) onError(toError(error))
    }
  }

  const check = debounce(() => enqueue(async () => {
    directories.refresh()
    if (fingerprint(path) !== loaded) await apply()
  }))
  const directories = watchDirectories(path, check.schedule, onError)
  loaded = fingerprint(path)

  /** Resolves when a running load has ended; no callback is called after that. */
  function close (): Promise<void> {
    closed = true
    check.cancel()
    directories.close()
    return queue
  }

  if (running !== undefined) enqueue(() => apply((config) => !isDeepStrictEqual(config, running)))
  /** Loads the file even if it is unchanged; resolves after `onChange` or `onError` was called. */
  const reload = (): Promise<void> => enqueue(() => apply())
  return { reload, close }
}

function debounce (act: () => void): { schedule: () => void, cancel: () => void } {
  let timer: NodeJS.Timeout | undefined
  let firstMs = 0
  return {
    schedule () {
      const nowMs = performance.now()
      if (timer === undefined) firstMs = nowMs
      clearTimeout(timer)
      timer = setTimeout(() => {
        timer = undefined
        act()
      }, Math.min(debounceTime.ms, Math.max(0, firstMs + debounceTime.maxMs - nowMs)))
    },
    cancel () {
      clearTimeout(timer)
    }
  }
}

/** Identifies the content of the file, or the error that prevents reading it. */
function fingerprint (path: string): string {
  try {
    const { size, mtimeMs } = statSync(path)
    if (size > maxFileBytes) return `${size} bytes at ${mtimeMs}`
    return createHash('sha256').update(readFileSync(path)).digest('hex')
  } catch (error) {
    return toError(error).message
  }
}

function toError (error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
