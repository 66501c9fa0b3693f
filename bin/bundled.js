import { createHash } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// The bundle that bin/bundle.ts makes of the program and its packages; see docs/performance.md.

const root = join(import.meta.dirname, '..')

/** Where the bundle is: beside the installed packages, which it contains. */
export const bundleFolder = join(root, 'node_modules', '.cache', 'bundle')

/**
 * The URL of a program in the bundle, `serve` or `worker`; null if the bundle is incomplete or one of its
 * source files has changed. Stack traces then name the lines of the sources.
 */
export function bundled (program) {
  try {
    const { inputs, stamp, digest } = JSON.parse(readFileSync(join(bundleFolder, 'inputs.json'), 'utf8'))
    if (stampOf(inputs) !== stamp && digestOf(inputs) !== digest) return null
  } catch (error) {
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return null
    throw error
  }
  module.setSourceMapsSupport(true, { nodeModules: true })
  return pathToFileURL(join(bundleFolder, `${program}.mjs`)).href
}

/**
 * A digest of the files' sizes, times and inodes: it changes with any of them, and may change without. No
 * program can set the time of the last change (ctime). Throws the system error if a file is missing.
 */
export function stampOf (inputs) {
  const stats = inputs.map(input => statSync(`${root}/${input}`))
  const text = stats.map(({ size, mtimeMs, ctimeMs, ino }) => `${size} ${mtimeMs} ${ctimeMs} ${ino}`).join()
  return createHash('sha256').update(text).digest('hex')
}

/**
 * SHA-256 of files, by their paths from the root of the project. Throws the system error if one is missing.
 */
export function digestOf (inputs) {
  const hash = createHash('sha256')
  // One buffer for all files: the process does not return memory.
  const buffer = Buffer.allocUnsafe(64 * 1024)
  for (const input of inputs) {
    hash.update(`${input}\n`)
    const file = openSync(`${root}/${input}`)
    let size
    do {
      size = readSync(file, buffer)
      hash.update(buffer.subarray(0, size))
    } while (size === buffer.length)
    closeSync(file)
  }
  return hash.digest('hex')
}
