import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installed } from '../agents/agent.ts'

const caches = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'tollgate')
/** Imports by name what is installed beside it. */
const loader = 'load.mjs'

type Load = (name: string) => Promise<unknown>

/**
 * Returns `import` for packages of which only one test needs tens of megabytes: the first run installs them
 * into the folder `name` of the caches. Null, with a line that says so, where the registry lacks them.
 */
export async function fetchPackages (name: string, ...packages: string[]): Promise<Load | null> {
  const folder = join(caches, name)
  if (!existsSync(folder)) {
    mkdirSync(caches, { recursive: true })
    const made = mkdtempSync(`${folder}-`)
    const isInstalled = await installed(made, ...packages)
    writeFileSync(join(made, loader), 'export const load = name => import(name)\n')
    if (isInstalled && !existsSync(folder)) renameSync(made, folder)
    rmSync(made, { recursive: true, force: true })
    if (!isInstalled) return null
  }
  const { load }: { load: Load } = await import(pathToFileURL(join(folder, loader)).href)
  return load
}
