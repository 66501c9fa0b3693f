import { readdirSync, readFileSync } from 'node:fs'

/** Ticks of the processors: all of them, those that were used, and those of this program. */
interface Ticks { all: number, used: number, own: number }

/** Returns a function for the share of the processors that other programs have used since; Linux only. */
export function watchOtherLoad (): () => number {
  const before = readTicks()
  return () => {
    const after = readTicks()
    const used = after.used - before.used - Math.max(0, after.own - before.own)
    return Math.max(0, used / (after.all - before.all))
  }
}

function readTicks (): Ticks {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const ticks = line.split(/ +/).slice(1).map(Number)
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupt = 0, soft = 0] = ticks
  const used = user + nice + system + interrupt + soft
  return { all: used + idle + wait, used, own: ownTicks() }
}

interface ProcessTicks { parent: number, ticks: number }

/** What this process and those below it have used. */
function ownTicks (): number {
  const processes = new Map<number, ProcessTicks>()
  for (const name of readdirSync('/proc')) {
    const found = /^\d+$/.test(name) ? processOf(name) : null
    if (found !== null) processes.set(Number(name), found)
  }
  let sum = 0
  for (let [pid, { parent, ticks }] of processes) {
    const first = ticks
    while (pid !== process.pid && processes.has(parent)) {
      [pid, parent] = [parent, processes.get(parent)?.parent ?? 0]
    }
    if (pid === process.pid) sum += first
  }
  return sum
}

/** Null for a process that has ended. */
function processOf (pid: string): ProcessTicks | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before it may have spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ').map(Number)
    const [, parent = 0] = fields
    return { parent, ticks: fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) }
  } catch {
    return null
  }
}
