import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installed } from '../agents/agent.ts'

const caches = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'tollgate')
/** Imports by name what is installed beside it. */
const loader = 'load.mjs'

type Load = (name: string) => Promise<unknown>

/** The folder of packages that `fetchPackages` installs under a name. */
export const fetchedIn = (name: string): string => join(caches, name)

/**
 * Installs packages that are too large to be dependencies into the folder `name` of the caches, unless an
 * earlier run has, and returns a function that imports them. Returns null, and prints why, if the registry
 * lacks them.
 */
export async function fetchPackages (name: string, ...packages: string[]): Promise<Load | null> {
  const folder = fetchedIn(name)
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
