import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { declarations } from './declarations.ts'

// Prepares what `npm pack` puts into the package, and with `--remove` takes it away again:
// - `dist`, the program without its types, because Node strips types of no file below `node_modules`. Lines
//   and columns stay as they are in the sources. The console in it is the one that `npm ci` built. The types
//   that apps import are declared beside it.
// - `npm-shrinkwrap.json`, the production packages of the lock file: an install gets what was tested.

const root = join(import.meta.dirname, '..')
const folders = ['bin', 'cli', 'console/dist', 'lib', 'plugins', 'routes', 'schemas', 'services']
const files = ['fastify.config.ts', 'package.json']

for (const name of ['dist', 'npm-shrinkwrap.json']) rmSync(join(root, name), { recursive: true, force: true })
if (!process.argv.includes('--remove')) {
  process.removeAllListeners('warning')
  const inside = globSync(folders.map(folder => `${folder}/**`), { cwd: root, exclude: ['**/*.d.ts'] })
  const isFile = (name: string): boolean => statSync(join(root, name)).isFile()
  if (!existsSync(join(root, 'console', 'dist', 'index.html'))) {
    throw new Error('The console is not built: run `npm run build:console`.')
  }
  for (const name of [...files, ...inside.filter(isFile)]) build(name)
  for (const [name, text] of declarations()) writeFileSync(join(root, 'dist', name), text)
  writeLock()
}

/** Writes the counterpart of one file, in which other files have the names of their own counterparts. */
function build (name: string): void {
  const target = join(root, 'dist', built(name))
  mkdirSync(dirname(target), { recursive: true })
  // What is built already, such as the console with its compressed copies, stays as it is.
  if (name.startsWith('console/') || !['.ts', '.js'].includes(extname(name))) return cpSync(join(root, name), target)
  const text = readFileSync(join(root, name), 'utf8')
  const plain = name.endsWith('.ts') ? stripTypeScriptTypes(text) : text
  const named = plain.replace(/(['"])([\w./-]+\.ts)\1/g, (whole, quote: string, path: string) => {
    const isOwn = statSync(join(root, dirname(name), path), { throwIfNoEntry: false })?.isFile() === true
    return isOwn ? `${quote}${built(path)}${quote}` : whole
  })
  writeFileSync(target, named, { mode: statSync(join(root, name)).mode })
}

function built (name: string): string {
  return name.replace(/\.ts$/, '.mjs')
}

function writeLock (): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const needed = Object.entries<{ dev?: boolean }>(lock.packages).filter(([, { dev }]) => dev !== true)
  const packages = needed.map(([name, entry]) => [name, { ...entry, devDependencies: undefined }] as const)
  const text = JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)
  writeFileSync(join(root, 'npm-shrinkwrap.json'), `${text}\n`)
}
