import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { compressFiles } from './compress.ts'

// Builds the operator console into `console/dist`, as `npm ci` does. An install without development
// packages has no Vite and leaves a console that was built before as it is.

const vite = await import('vite').catch(() => null)
const output = join(import.meta.dirname, 'dist')

if (vite === null) {
  if (!existsSync(output)) {
    console.log('The console is not built: it needs Vite, a development package. Run `npm ci && npm run build:console`.')
  }
} else {
  await vite.build({
    root: import.meta.dirname,
    configFile: false,
    base: '/console/',
    logLevel: 'warn',
    build: {
      target: 'es2024',
      emptyOutDir: true,
      // The content security policy allows no data URLs for scripts and styles.
      assetsInlineLimit: 0,
      modulePreload: false
    },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } }
  })
  compressFiles(output)
}
