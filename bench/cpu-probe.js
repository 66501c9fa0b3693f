import { isMainThread } from 'node:worker_threads'

// Preloaded with --import into the process under test, whose own code stays unchanged. In JavaScript, because
// what strips the types of TypeScript takes memory and time that the process would not need.

if (isMainThread && process.send) {
  process.on('message', (message) => {
    if (message !== 'usage') return
    // With --expose-gc: memory is compared without garbage.
    globalThis.gc?.()
    const { user, system } = process.cpuUsage()
    process.send?.({ cpuUs: user + system, rssBytes: process.memoryUsage.rss() })
  })
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  // The channel must not keep the process alive.
  process.channel?.unref()
}
