import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packageFile from '../../package.json' with { type: 'json' }
import { freePort } from '../helpers/free-port.ts'
import { runBounded, startBounded } from './command.ts'

// Follows the README on a fresh clone with the versions of Node and npm that users have: install, start,
// first answer, command line, stop, one test file. Needs Git, bash and the registry; clones the last commit.

const pairs = [
  { node: '20', npm: '10.8.2' },
  { node: '22', npm: '10.9' },
  { node: '24', npm: '11' },
  // The newest npm does not run on Node 20.
  { node: '24', npm: 'latest' }
]

const root = join(import.meta.dirname, '..', '..')
const workspace = mkdtempSync(join(tmpdir(), 'tollgate-install-'))
let failed = 0
let passed = 0

try {
  for (const pair of pairs) await prove(pair)
} finally {
  rmSync(workspace, { recursive: true, force: true })
}
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1

/** Runs all steps with one Node and npm; a step that fails ends them. */
async function prove (pair: { node: string, npm: string }): Promise<void> {
  const folder = mkdtempSync(join(workspace, 'pair-'))
  const clone = join(folder, 'tollgate')
  const env = environment(folder)
  const run = (command: string, limitS: number) => runBounded(command, { cwd: clone, env, limitS })
  const steps: Record<string, () => Promise<string | void>> = {
    tools: async () => {
      await installTools(folder, pair, { ...env, PATH: process.env['PATH'] })
      await runBounded(`git clone --quiet '${root}' '${clone}'`, { cwd: folder, env: process.env, limitS: 60 })
      return (await run('echo "node $(node --version), npm $(npm --version)"', 30)).trim()
    },
    install: async () => {
      const noise = /^npm warn (EBADENGINE|deprecated).*/im.exec(await run('npm ci --prefer-offline', 300))?.[0]
      if (noise !== undefined) throw new Error(noise)
    },
    'start and stop': () => serve(clone, env),
    test: async () => {
      const [file = ''] = globSync('test/services/**/ids.test.ts', { cwd: clone })
      const output = await run(`npm test -- ${file}`, 120)
      if (!/# \{ total: \d+, pass: \d+ \}/.test(output)) throw new Error(output)
    }
  }
  process.stdout.write(`Node ${pair.node} with npm ${pair.npm}\n`)
  for (const [name, step] of Object.entries(steps)) {
    const startedAt = performance.now()
    const report = (word: string, found: string | void): void => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      process.stdout.write(`  ${word.padEnd(6)} ${name.padEnd(14)} ${seconds.padStart(5)} s  ${found ?? ''}\n`)
    }
    try {
      report('ok', await step())
      passed++
    } catch (error) {
      report('failed', String(error))
      failed++
      break
    }
  }
  rmSync(folder, { recursive: true, force: true })
}

/** Installs a Node and an npm, as packages, with the npm on the PATH of `env`. */
async function installTools (
  cwd: string, { node, npm }: { node: string, npm: string }, env: NodeJS.ProcessEnv
): Promise<void> {
  const platform = `${process.platform}-${process.arch}`
  const nodePackage = Object.keys(packageFile.optionalDependencies).find(name => name.endsWith(platform))
  if (nodePackage === undefined) throw new Error(`there is no package of Node for ${platform}`)
  writeFileSync(join(cwd, 'package.json'), '{ "private": true }')
  const command = `npm install --prefer-offline --no-audit --no-fund ${nodePackage}@${node} npm@${npm}`
  await runBounded(command, { cwd, env, limitS: 180 })
}

/** What a user's shell has, with nothing on the PATH but one Node, one npm and the system's programs. */
function environment (folder: string): NodeJS.ProcessEnv {
  // How to reach the registry and its cache, for machines that need it.
  const network = /^(NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|https?_proxy|no_proxy)$/i
  const npm = /^npm_config_(cache|cafile|registry|userconfig|globalconfig)$/i
  const own = Object.entries(process.env).filter(([name]) => {
    return ['HOME', 'USER', 'LANG', 'TMPDIR'].includes(name) || network.test(name) || npm.test(name)
  })
  return { ...Object.fromEntries(own), PATH: `${join(folder, 'node_modules', '.bin')}:/usr/local/bin:/usr/bin:/bin` }
}

/** Starts the gateway, asks what the README asks, uses the command line, and stops it by SIGTERM. */
async function serve (cwd: string, clean: NodeJS.ProcessEnv): Promise<string> {
  const port = await freePort()
  // Bash becomes the command that it runs, so npm's signal arrives; other shells end and leave it running.
  const env = { ...clean, PORT: String(port), TOLLGATE_DISCOVER: 'off', npm_config_script_shell: 'bash' }
  const gateway = startBounded('exec npm start', { cwd, env, limitS: 60 })
  try {
    const [key] = await gateway.printed(/sk-tg-\S+/)
    await gateway.printed(/Tollgate serves/)
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'What is a gateway?' }] }),
      signal: AbortSignal.timeout(10_000)
    })
    const text = await answer.text()
    if (answer.status !== 200 || !/gateway/.test(text)) throw new Error(`${answer.status} ${text}`)
    await runBounded('npx --no tollgate accounts list', { cwd, env, limitS: 30 })
  } finally {
    gateway.stop()
  }
  const code = await gateway.exited
  if (code !== 0) throw new Error(`npm start ends with ${code} on SIGTERM:\n${gateway.output()}`)
  const isServed = await fetch(`http://127.0.0.1:${port}/healthz`).then(() => true, () => false)
  if (isServed) throw new Error('the gateway outlives npm start')
  return 'answers, exit code 0 on SIGTERM'
}
