import { isMainThread } from 'node:worker_threads'

// Preloaded with --import into the process under test, whose own code stays unchanged.

/** The resources that a process has used. */
export interface Usage {
  /** User and system time of all threads, in microseconds. */
  cpuUs: number
  rssBytes: number
}

if (isMainThread && process.send) {
  process.on('message', (message) => {
    if (message !== 'usage') return
    // With --expose-gc: memory is compared without garbage.
    globalThis.gc?.()
    const { user, system } = process.cpuUsage()
    const usage: Usage = { cpuUs: user + system, rssBytes: process.memoryUsage.rss() }
    process.send?.(usage)
  })
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  // The channel must not keep the process alive.
  process.channel?.unref()
}
