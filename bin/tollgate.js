#!/usr/bin/env node
// Plain JavaScript, because the Node that is installed may be too old to run TypeScript. Then the project's
// own one takes over.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import './compile-cache.js'

const oldestMajor = 24

if (Number.parseInt(process.versions.node) >= oldestMajor) {
  await import('./tollgate.ts')
} else {
  const node = ownNode()
  if (node === null) {
    process.stderr.write(`tollgate: needs Node ${oldestMajor} or newer, but this is ${process.versions.node}\n`)
    process.exitCode = 1
  } else {
    handOver(node)
  }
}

/** The path of the Node that `npm ci` has installed; null when there is none for this platform. */
function ownNode () {
  const require = createRequire(import.meta.url)
  for (const name of Object.keys(require('../package.json').optionalDependencies)) {
    try {
      const file = require.resolve(`${name}/package.json`)
      return join(dirname(file), require(file).bin.node)
    } catch {
      // It is made for another platform and so was not installed.
    }
  }
  return null
}

/** Runs this same program in another Node and ends as that one ends. */
function handOver (node) {
  const program = spawn(node, [import.meta.filename, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the whole group, and the gateway would take a second one for impatience.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) program.kill(signal)
    })
  }
  program.on('error', error => {
    process.stderr.write(`tollgate: cannot run ${node}: ${error.message}\n`)
    process.exitCode = 1
  })
  program.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
