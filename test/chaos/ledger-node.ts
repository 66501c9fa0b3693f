import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Store } from '../../services/store/store.ts'
import type { Report } from './report.ts'

/** One life of a worker. */
export interface WorkerLife {
  readonly node: string
  readonly prefix: string
  /** How often it found the database unavailable. */
  readonly outages: () => number
  /** Resolves when it finds the database unavailable, or back. */
  hears (database: 'away' | 'back'): Promise<void>
  kill (): Promise<Said>
  /** Stops the process where it is, until `thaw`. */
  freeze (): void
  thaw (): void
  /** Lets it reach its kill point, and waits until it has killed itself there. */
  killedItself (): Promise<Said>
  /** Waits until it has finished. Throws an Error if it ends in another way. */
  end (): Promise<Said>
}

/** The output of one life of a worker. */
export interface Said {
  /** The charge of each request in nano-USD, by its id. */
  settled: ReadonlyMap<string, number>
  onDisk: ReadonlySet<string>
}

/** Where a worker kills itself: at its n-th statement, as `<n>:<before | during | after>`. */
export type KillPoint = `${number}:${'before' | 'during' | 'after'}`

/** Most of what a short life costs is to compile its code; as in .taprc. */
const compiled = join(import.meta.dirname, '../../node_modules/.cache/compiled')

/**
 * Starts a worker and waits until it is ready. Its output is stored in `folder`. Without a kill point, it
 * runs until it gets a signal.
 */
export async function startWorker (
  url: string, node: string, prefix: string, folder: string, killPoint: KillPoint | '' = ''
): Promise<WorkerLife> {
  const program = join(import.meta.dirname, 'ledger-worker.ts')
  const path = join(folder, `${prefix}.log`)
  const output = await open(path, 'w')
  const child = spawn(process.execPath, [program, url, node, prefix, killPoint], {
    stdio: ['ignore', output.fd, 'inherit', 'ipc'],
    env: { ...process.env, NODE_COMPILE_CACHE: compiled }
  })
  await output.close()
  let outages = 0
  const exited = once(child, 'exit')
  const ready = once(child, 'ready')
  child.on('message', (word: string) => {
    if (word === 'away') outages++
    child.emit(word)
  })
  const early = exited.then(() => { throw new Error(`the worker ${prefix} has ended by itself`) })
  await Promise.race([ready, early])
  early.catch(() => {})

  async function signal (name: NodeJS.Signals): Promise<number | null> {
    child.kill(name)
    const [code] = await exited
    return code
  }

  return {
    node,
    prefix,
    outages: () => outages,
    hears: async (database) => { await once(child, database) },
    async kill () {
      await signal('SIGKILL')
      return await readSaid(path)
    },
    freeze: () => { child.kill('SIGSTOP') },
    thaw: () => { child.kill('SIGCONT') },
    async killedItself () {
      child.send('arm')
      await exited
      if (child.signalCode !== 'SIGKILL') throw new Error(`the worker ${prefix} ended with ${child.exitCode}`)
      return await readSaid(path)
    },
    async end () {
      const code = await signal('SIGTERM')
      if (code !== 0) throw new Error(`the worker ${prefix} ended with ${code}`)
      return await readSaid(path)
    }
  }
}

async function readSaid (path: string): Promise<Said> {
  const lines = (await readFile(path, 'utf8')).split('\n').map((line) => line.split(' '))
  await rm(path)
  return {
    settled: new Map(lines.flatMap(([word, id = '', cost]) => word === 'settle' ? [[id, Number(cost)]] : [])),
    onDisk: new Set(lines.flatMap(([word, id = '']) => word === 'disk' ? [id] : []))
  }
}

/** Integer nano-USD. */
export interface Loss { lostNano: number, boundNano: number }

/**
 * Compares the books with the output of a worker's life that has ended and whose holds have been released.
 * `accountedNano` is what earlier lives of the same node held when they ended.
 */
export async function checkLife (
  store: Store, { node, prefix }: WorkerLife, { settled, onDisk }: Said, accountedNano: number, report: Report
): Promise<Loss> {
  const entries = await store.all<{ ref: string, amount: number, kind: string }>(
    "select ref, amount, kind from entry where kind in ('usage', 'suspense') and ref like $1", [`${prefix}-%`])
  const booked = new Map(entries.map(({ ref, amount }) => [ref, amount]))
  report.check(entries.length === booked.size, `${prefix}: nothing is booked twice`)
  report.check([...onDisk].every((id) => booked.has(id)), `${prefix}: what was said to be on disk is there`)
  report.check(entries.every(({ ref, amount }) => settled.get(ref) === amount), `${prefix}: amounts are as settled`)
  report.check(entries.every(({ kind }) => kind === 'usage'), `${prefix}: nothing went to suspense`)

  let lostNano = 0
  for (const [id, nano] of settled) if (!booked.has(id)) lostNano += nano
  const boundNano = await takenBackNano(store, node) - accountedNano + await ownHoldsNano(store, prefix)
  report.check(lostNano <= boundNano, `${prefix}: lost ${lostNano} of ${boundNano} on hold`)
  return { lostNano, boundNano }
}

/** The released holds for small requests of a node, in all its lives, in nano-USD. */
export async function takenBackNano (store: Store, node: string): Promise<number> {
  const row = await store.get<{ nano: number }>(`
    select cast(coalesce(sum(amount), 0) as bigint) as nano from hold
    where owner = $1 and kind = 'node' and account = 'paying' and state = 3`, [node])
  return row?.nano ?? 0
}

/** The durable holds of requests that were abandoned, in nano-USD. */
async function ownHoldsNano (store: Store, prefix: string): Promise<number> {
  const row = await store.get<{ nano: number }>(`
    select cast(coalesce(sum(amount), 0) as bigint) as nano from hold
    where id like $1 and kind <> 'node' and account = 'paying' and state in (0, 3)`, [`${prefix}-%`])
  return row?.nano ?? 0
}
