import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { watchDirectories } from './directory-watch.ts'
import { maxFileBytes } from '../load.ts'

/** An operator's file that is followed. */
export interface ConfigWatcher {
  /**
   * Loads the file even when it looks unchanged; resolves when that has been told to `onChange` or `onError`.
   */
  reload (): Promise<void>
  /** Stops watching; resolves when a load under way has ended. Nothing is told after that. */
  close (): Promise<void>
}

interface WatchOptions<Config> {
  path: string
  load: () => Config | Promise<Config>
  onChange: (config: Config) => void | Promise<void>
  /** Hears of a file that cannot be used (ConfigError), of `onChange` failing, and of a watch that broke. */
  onError: (error: Error) => void
  /**
   * The configuration in force: when the file has become another before the watch began, that is told too.
   */
  running?: Config
  /** Stops watching, like `close`. */
  signal?: AbortSignal
}

/**
 * An editor writes in several steps: the file is read when it has been quiet, but not later than `mostMs`.
 */
const quiet = { ms: 100, mostMs: 1000 }

/**
 * Follows a file: every change of its content is loaded and told to `onChange`; one that cannot be loaded is
 * told to `onError` and changes nothing. The directory is watched, not the file, because editors and
 * Kubernetes put another file in its place. Without `running`, create it before the first load, so that no
 * change falls between.
 */
export function watchConfig<Config> (
  { path, load, onChange, onError, running, signal }: WatchOptions<Config>
): ConfigWatcher {
  let seen: string | null = null
  let closed = false
  let queue = Promise.resolve()

  /** Loads one after the other: a change during a load is seen by the check that waits behind it. */
  function enqueue (work: () => Promise<void>): Promise<void> {
    const next = () => closed ? undefined : work()
    queue = queue.then(next, next)
    return queue
  }

  async function apply (wanted: (config: Config) => boolean = () => true) {
    // Taken before the load: a change in between loads once too often, never too seldom.
    seen = fingerprint(path)
    try {
      const config = await load()
      if (!closed && wanted(config)) await onChange(config)
    } catch (error) {
      if (!closed) onError(toError(error))
    }
  }

  const whenQuiet = debounce(() => enqueue(async () => {
    directories.refresh()
    if (fingerprint(path) !== seen) await apply()
  }))
  const directories = watchDirectories(path, whenQuiet.schedule, onError)
  seen = fingerprint(path)

  function close (): Promise<void> {
    closed = true
    whenQuiet.cancel()
    directories.close()
    signal?.removeEventListener('abort', close)
    return queue
  }

  if (running !== undefined) enqueue(() => apply((config) => !isDeepStrictEqual(config, running)))
  signal?.addEventListener('abort', close)
  if (signal?.aborted) close()
  return { reload: () => enqueue(() => apply()), close }
}

/** Puts `act` off until nothing has been scheduled for a while. */
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
      }, Math.min(quiet.ms, Math.max(0, firstMs + quiet.mostMs - nowMs)))
    },
    cancel () {
      clearTimeout(timer)
    }
  }
}

/** Tells one content of the file from another; also what keeps it from being read. */
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
