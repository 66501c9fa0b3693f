import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Removes the `engines` of dependencies from package-lock.json. npm compares them with the Node that installs
// and warns, or leaves an optional package out; but it is the project's own Node that runs them.

const file = join(import.meta.dirname, '..', 'package-lock.json')
const lock: { packages: Record<string, { engines?: object }> } = JSON.parse(readFileSync(file, 'utf8'))
for (const [path, locked] of Object.entries(lock.packages)) {
  if (path !== '') delete locked.engines
}
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
