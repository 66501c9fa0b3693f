import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { tricks, type Patch } from './tricks.ts'

// Preloaded into the gateway under test: patches the files of the tricks, so that each can be switched off by
// a message with its name, `none` or `all`. Throws if a file does not have the text that a patch replaces.

declare global {
  /** The trick that is off. */
  var ablated: string
}

const root = join(import.meta.dirname, '../..')
const patches = Map.groupBy(Object.entries(tricks).flatMap(([name, trick]) => trick.patches.map(patch => ({
  url: pathToFileURL(join(root, patch.file)).href,
  ...patch,
  to: patch.to.replaceAll('$plain', `(globalThis.ablated === '${name}' || globalThis.ablated === 'all')`)
}))), ({ url }) => url)

globalThis.ablated = 'none'
registerHooks({
  load (url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    const ofFile = patches.get(url)
    if (ofFile === undefined) return loaded
    return { ...loaded, source: ofFile.reduce(patched, String(loaded.source)) }
  }
})

function patched (source: string, { file, from, to }: Patch): string {
  if (source.split(from).length !== 2) throw new Error(`${file} does not have once: ${from}`)
  return source.replace(from, () => to)
}

process.on('message', (message: { ablate?: string }) => {
  if (message.ablate === undefined) return
  globalThis.ablated = message.ablate
  process.send?.({})
})
