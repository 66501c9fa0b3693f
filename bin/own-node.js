import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { isatty } from 'node:tty'

// Plain JavaScript that Node 20 runs: npm 10 installs the project's own Node without a link to it, so scripts
// start in whatever Node is on the PATH (https://github.com/npm/cli/issues/4362).

const oldestMajor = 26

/** Whether Tollgate can run in this process. */
export const isNewEnough = Number.parseInt(process.versions.node) >= oldestMajor

/** The path of the Node that `npm ci` has installed; null if there is none for this platform. */
export function ownNode () {
  const require = createRequire(import.meta.url)
  for (const name of Object.keys(require('../package.json').optionalDependencies)) {
    try {
      const file = require.resolve(`${name}/package.json`)
      return join(dirname(file), require(file).bin.node)
    } catch {
      // This package is for another platform, so npm has not installed it.
    }
  }
  return null
}

/**
 * Replaces this process by Node with `args` (its options, a program, the program's arguments): this Node if
 * it is new enough, otherwise the project's. Child processes named `node` run the same one.
 */
export function handOver (args) {
  const node = isNewEnough ? process.execPath : ownNode()
  if (node === null) {
    const { platform, arch, versions } = process
    process.stderr.write(`Tollgate needs Node ${oldestMajor} or newer: this is ${versions.node}, ` +
      `and npm has installed none for ${platform}-${arch}\n`)
    process.exitCode = 1
    return
  }
  // As deploy/Dockerfile does: glibc has up to eight arenas per processor, whose free memory stays apart.
  process.env.MALLOC_ARENA_MAX ??= '2'
  process.env.PATH = `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`
  if (process.platform !== 'win32' && process.execve !== undefined) {
    process.execve(node, [node, ...args], { ...process.env })
  }
  spawnInstead(node, args)
}

/** Node 20 and Windows cannot replace a process: this one passes signals on and ends as its child does. */
function spawnInstead (node, args) {
  const child = spawn(node, args, { stdio: 'inherit' })
  const isAtTerminal = [0, 1, 2].some(isatty)
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the whole group, and the gateway aborts on a second one.
      if (signal !== 'SIGINT' || !isAtTerminal) child.kill(signal)
    })
  }
  child.on('error', error => {
    process.stderr.write(`Cannot run ${node}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
