// Caches the compiled sources without types beside the installed packages, which makes every start a third
// faster. Preloaded before the program; run directly, as at the end of `npm ci`, it fills the cache. An older
// Node or a read-only folder only means a slower start.
import { existsSync, readdirSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { bundled, bundleFolder } from './bundled.js'

const folder = join(import.meta.dirname, '..', 'node_modules', '.cache', 'compiled')
const isOn = module.enableCompileCache?.(folder).directory !== undefined

if (isOn && process.argv[1] === import.meta.filename) {
  await import(bundled('serve') ?? './serve.ts')
  await import(bundled('gateway') ?? './gateway.ts')
  // Only some starts need these.
  await import(bundled('parse') ?? '../services/config/read/parse.ts')
  const schemas = join(bundleFolder, 'schemas')
  const require = module.createRequire(import.meta.url)
  if (existsSync(schemas)) readdirSync(schemas).forEach(name => require(join(schemas, name)))
  module.flushCompileCache()
}
