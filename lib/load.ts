/** The oldest releases with a node:sqlite that binds numbered parameters, by their major version. */
const oldest: ReadonlyMap<number, number> = new Map([[22, 20], [24, 8]])

/** Loads the gateway on first use. Throws an Error if this Node.js is too old. */
export async function loadGateway (): Promise<typeof import('./gateway.ts')> {
  const { node } = process.versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  if (major < 25 && minor < (oldest.get(major) ?? Infinity)) {
    throw new Error('Tollgate as a library needs Node.js 22.20, 24.8, 25 or newer: ' +
      `this is ${node}. The command \`npx tollgate\` runs on Node.js 20, because it brings its own.`)
  }
  return await import('./gateway.ts')
}
