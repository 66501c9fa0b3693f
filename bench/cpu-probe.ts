import { isMainThread } from 'node:worker_threads'

// Preloaded with --import into a process under test, so that the process itself stays as its users run it.

/** What a process has used since its start. */
export interface Usage {
  /** User and system time of all threads, in microseconds. */
  cpuUs: number
  rssBytes: number
}

if (isMainThread && process.send) {
  process.on('message', (message) => {
    if (message !== 'usage') return
    // There only with --expose-gc: what is garbage says nothing about what is kept.
    globalThis.gc?.()
    const { user, system } = process.cpuUsage()
    const usage: Usage = { cpuUs: user + system, rssBytes: process.memoryUsage.rss() }
    process.send?.(usage)
  })
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  // The channel must not keep a process alive that wants to end.
  process.channel?.unref()
}
