import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until a condition holds, however long a busy machine takes; only the test's own timeout ends it. */
export async function until (isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!await isTrue()) await sleep(5)
}
