#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { handOver, isNewEnough } from './own-node.js'

// Plain JavaScript, because the Node on the PATH may be too old to run TypeScript.

if (isNewEnough) {
  await import('./compile-cache.js')
  await import('./tollgate.ts')
} else {
  handOver([fileURLToPath(import.meta.url), ...process.argv.slice(2)])
}
