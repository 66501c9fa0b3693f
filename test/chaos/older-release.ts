import { execFile } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../helpers/process.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

interface Teardown { teardown (work: () => unknown): void }

/** The program of an earlier commit, with today's packages; null if the checkout does not have the commit. */
export async function olderRelease (t: Teardown, commit: string): Promise<string | null> {
  const folder = await temporaryFolder(t)
  try {
    const archive = join(folder, 'release.tar')
    await run('git', ['archive', '--format=tar', '--output', archive, commit], { cwd: root })
    await run('tar', ['-xf', archive, '-C', folder])
  } catch {
    return null
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}
