import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { outcomeOf, temporaryFolder, withoutHooks } from '../helpers/process.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'tollgate.js')

/** Runs `tollgate ledger check` on a database; the code is 0 if the books add up. */
export async function checkLedger (
  t: { teardown (work: () => unknown): void }, databaseUrl: string
): Promise<{ code: number | null, output: string }> {
  const child = spawn(...withoutHooks(process.execPath, program, 'ledger', 'check'), {
    cwd: await temporaryFolder(t), env: { DATABASE_URL: databaseUrl }, stdio: ['ignore', 'pipe', 'pipe']
  })
  const { exited, output } = outcomeOf(child)
  return { code: await exited, output: output() }
}
