import './compile-cache.js'
import { bundled } from './bundled.js'

// One worker of `npm start`: of the bundle if it is up to date, else of the sources.

await import(bundled('worker') ?? './worker.ts')
