import './compile-cache.js'
import { join } from 'node:path'
import { bundled } from './bundled.js'

// What `npm start` runs: the bundle if it is up to date, else the sources.

const { main } = await import(bundled('serve') ?? './serve.ts')
await main(join(import.meta.dirname, 'worker.js'))
