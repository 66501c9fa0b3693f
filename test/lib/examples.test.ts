import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')

/** Lets a file import the package of this project as an app does, before it is built. */
const asPackage = `
  import { registerHooks } from 'node:module'
  const lib = { tollgate: 'index.ts', 'tollgate/testing': 'testing.ts' }
  const root = ${JSON.stringify(pathToFileURL(join(root, 'lib')).href)}
  registerHooks({ resolve: (name, context, next) => next(lib[name] === undefined ? name : root + '/' + lib[name], context) })
`

for (const example of globSync('examples/*/*.test.ts', { cwd: root })) {
  t.test(`${example} passes`, async t => {
    const hook = `data:text/javascript,${encodeURIComponent(asPackage)}`
    const { NODE_OPTIONS, ...env } = process.env
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', hook, '--test', example], { cwd: root, env })
    t.match(stdout, /fail 0/)
  })
}
