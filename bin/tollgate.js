#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { handOver, isNewEnough } from './own-node.js'

// Plain JavaScript, because the Node on the PATH may be too old to run TypeScript.

/** Node strips the types of no file below `node_modules`: there, the package has the program without them. */
const isPackage = import.meta.url.includes('/node_modules/')

if (isNewEnough && isPackage) {
  await import('../dist/bin/compile-cache.js')
  await import('../dist/bin/tollgate.mjs')
} else if (isNewEnough) {
  await import('./compile-cache.js')
  await import('./tollgate.ts')
} else {
  handOver([fileURLToPath(import.meta.url), ...process.argv.slice(2)])
}
