import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** A process with a gateway that makes videos, and the key of its first start. */
export interface Life { child: ChildProcess, url: string, key: string | null }

interface LifeOptions {
  databaseUrl: string
  providerUrl: string
  mediaFolder: string
  takeoverMs: number
  /** Receives the process before it listens. */
  onSpawn (child: ChildProcess): void
  env?: Record<string, string>
}

const patienceMs = 120_000

/** Starts `video-node.ts`; what it sends is emitted as events of the process. */
export async function startLife (options: LifeOptions): Promise<Life> {
  const { databaseUrl, providerUrl, mediaFolder, takeoverMs, onSpawn, env = {} } = options
  const child = spawn(process.execPath, [join(import.meta.dirname, 'video-node.ts'), providerUrl, String(takeoverMs)], {
    env: { ...process.env, DATABASE_URL: databaseUrl, TOLLGATE_MEDIA: mediaFolder, TOLLGATE_DISCOVER: 'off', ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc']
  })
  onSpawn(child)
  child.on('message', (message: { event: string }) => child.emit(message.event, message))
  const [{ url, key }] = await once(child, 'listening', { signal: AbortSignal.timeout(patienceMs) })
  return { child, url, key }
}
