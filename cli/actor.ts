import { userInfo } from 'node:os'
import type { Operator } from '../services/keys/roles.ts'

/** Returns the user of the operating system, e.g. `cli:root`; in a container this may be a number. */
export function cliActor (): Operator {
  return { id: `cli:${userName()}`, label: null, role: 'owner', account: null }
}

function userName (): string {
  try {
    return userInfo().username
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}
