import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { Plugin } from 'rolldown'
import { bundleFolder, digestOf, stampOf } from './bundled.js'
import { linesOnly } from './line-map.ts'

// Bundles the program and the packages of every start into a few files; `npm ci` runs it. An install without
// development packages has no Rolldown and keeps an existing bundle.

const root = join(import.meta.dirname, '..')

/** By the names of `bundled`. */
const programs = {
  serve: join(root, 'bin', 'serve.ts'),
  worker: join(root, 'bin', 'worker.ts'),
  // Modules that only some starts load, and that bin/compile-cache.js preloads.
  gateway: join(root, 'bin', 'gateway.ts'),
  parse: join(root, 'services', 'config', 'read', 'parse.ts')
}

/** Packages that are loaded on first use stay outside. */
const onFirstUse = [
  /^@aws-sdk\//, '@smithy/signature-v4', /^@opentelemetry\/(?!api$)/, '@scalar/fastify-api-reference',
  /^gpt-tokenizer\//, 'openid-client', 'jose', 'pg', 'sharp', '@fastify/ajv-compiler',
  '@fastify/fast-json-stringify-compiler', 'fast-json-stringify'
]

/** What decides, beside the modules, which modules the bundle has and what becomes of them. */
const deciding = ['bin/bundle.ts', 'bin/compile-schemas.ts', 'bin/line-map.ts', 'package-lock.json', 'tsconfig.json']

/** The folder of the compiled schemas in the bundle, and the module that names it. */
const schemas = 'schemas'
const namesFolder = join(root, 'services', 'http', 'compiled-folder.ts')

/** `debug` colours its output with it where development packages bring it; the image has none of them. */
const developmentOnly = 'supports-color'

const rolldown = await import('rolldown').catch(() => null)
if (rolldown !== null) {
  // A start may be reading the previous bundle, which stays if this fails.
  const folder = `${bundleFolder}-${process.pid}`
  mkdirSync(folder, { recursive: true })
  try {
    await makeBundle(folder, rolldown)
    rmSync(bundleFolder, { recursive: true, force: true })
    renameSync(folder, bundleFolder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function makeBundle (folder: string, { build }: typeof import('rolldown')): Promise<void> {
  const inputs: string[] = []
  const startedMs = Date.now()
  const { output } = await build({
    input: programs,
    platform: 'node',
    external: [...onFirstUse, developmentOnly],
    plugins: [schemasBeside(), ownPlaces(), listInputs(inputs)],
    output: {
      dir: folder,
      entryFileNames: '[name].mjs',
      chunkFileNames: '[name]-[hash].mjs',
      sourcemap: true,
      sourcemapExcludeSources: true,
      // Without comments and indentation, and in ASCII, Node reads and keeps a third as much. The packages'
      // licences are in separate files.
      comments: false,
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true, asciiOnly: true } },
      // Names of errors appear in logs.
      keepNames: true
    }
  })
  for (const chunk of output) {
    // V8 would store the text with two bytes a character.
    if (chunk.type === 'chunk' && /[^\0-\x7f]/.test(chunk.code)) throw new Error(`${chunk.fileName} is not ASCII`)
  }
  for (const { fileName } of output.filter(({ fileName }) => fileName.endsWith('.map'))) {
    const file = join(folder, fileName)
    const map = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...map, names: [], mappings: linesOnly(map.mappings) }))
  }
  const { compileSchemas } = await import('./compile-schemas.ts')
  const deciders = await compileSchemas(join(folder, schemas))
  inputs.push(...deciders.map(file => relative(root, file)))
  inputs.sort()
  // A file that changes during the read could change again within the precision of its timestamp.
  const isSettled = inputs.every(input => statSync(join(root, input)).ctimeMs < startedMs)
  const list = { inputs, stamp: isSettled ? stampOf(inputs) : null, digest: digestOf(inputs) }
  writeFileSync(join(folder, 'inputs.json'), JSON.stringify(list))
}

/** Sets the folder of the compiled schemas. */
function schemasBeside (): Plugin {
  return {
    name: 'schemas-beside',
    load: id => id === namesFolder ? `export const compiledFolder = import.meta.dirname + '/${schemas}'` : null
  }
}

/** Lets modules find the files beside their sources. */
function ownPlaces (): Plugin {
  const toRoot = relative(bundleFolder, root)
  return {
    name: 'own-places',
    transform (code, id) {
      if (id.startsWith('\0') || id === namesFolder) return null
      const file = JSON.stringify(`/${join(toRoot, relative(root, id))}`.replaceAll(sep, '/'))
      const folder = JSON.stringify(`/${join(toRoot, relative(root, dirname(id)))}`.replaceAll(sep, '/'))
      const placed = code
        .replaceAll('import.meta.url', `new URL('.' + ${file}, import.meta.url).href`)
        .replaceAll('import.meta.dirname', `(import.meta.dirname + ${folder})`)
        .replaceAll(/(?<![\w.$])__dirname\b/g, `(import.meta.dirname + ${folder})`)
      return placed === code ? null : { code: placed, map: null }
    }
  }
}

/** Lists what the bundle depends on. */
function listInputs (inputs: string[]): Plugin {
  return {
    name: 'list-inputs',
    buildEnd () {
      const modules = [...this.getModuleIds()].filter(id => existsSync(id))
      const manifests = modules.map(id => /^.*\/node_modules\/(@[^/]+\/)?[^/]+\//.exec(id)?.[0])
        .filter(folder => folder !== undefined).map(folder => join(folder, 'package.json'))
      const all = new Set([...modules, ...manifests, ...deciding.map(name => join(root, name))])
      inputs.push(...[...all].map(id => relative(root, id)))
    }
  }
}
