import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StandaloneValidator, type BuildCompilerFromPool } from '@fastify/ajv-compiler'
import { StandaloneSerializer, type SerializerFactory } from '@fastify/fast-json-stringify-compiler'
import { build, type Compilers } from '../fastify.config.ts'
import { configFromEnvironment } from '../services/config/environment/environment.ts'
import { readSettings } from '../services/config/settings/settings.ts'
import { compiledFile } from '../services/http/compiled-schemas.ts'
import { ownSchemas } from '../services/http/serializer.ts'

/** Receives the code of a CommonJS file. */
type Store = (file: string, code: string) => void

/**
 * Compiles the schemas of all requests and responses into files of a new folder, as the gateway would on
 * first use. Returns the paths of the modules that these files depend on, besides the schemas.
 */
export async function compileSchemas (folder: string): Promise<string[]> {
  mkdirSync(folder)
  const store: Store = (file, code) => writeFileSync(join(folder, file), code)
  const buildSerializer = storingSerializers(store)
  await useCompilers({ buildValidator: storingValidators(store), buildSerializer })
  for (const schema of ownSchemas) buildSerializer({})({ schema, method: '', url: '', httpStatus: '' })
  return ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'].flatMap(modulesOf)
}

/** Makes a gateway request every compiled schema that it may ever need. */
export async function useCompilers (compilers: Compilers): Promise<void> {
  await using data = await mkdtempDisposable(join(tmpdir(), 'tollgate-schemas-'))
  const env = { DATABASE_URL: 'sqlite::memory:', TOLLGATE_MEDIA: data.path, TOLLGATE_DISCOVER: 'off' }
  const settings = readSettings(env, data.path)
  const app = await build({ settings, config: configFromEnvironment(env), compilers })
  await app.ready()
  await app.close()
}

function storingValidators (store: Store): BuildCompilerFromPool {
  return (shared, options) => {
    const standalone = StandaloneValidator({
      readMode: false,
      storeFunction: ({ schema }, code) => store(compiledFile('validator', schema as object, options), code)
    })
    const given = options?.customOptions
    const customOptions: object = { ...given, code: { ...given?.code, source: true } }
    return standalone(shared, { ...options, customOptions })
  }
}

function storingSerializers (store: Store): SerializerFactory {
  return (shared, options) => StandaloneSerializer({
    readMode: false,
    storeFunction: ({ schema }, code) => store(compiledFile('serializer', schema as object, options), code)
  })(shared, { ...options, inlineValidators: true })
}

/** The files of a loaded CommonJS package and of what it requires. */
function modulesOf (name: string): string[] {
  const require = createRequire(import.meta.url)
  const files = new Set<string>()
  const add = (module: NodeJS.Module | undefined): void => {
    if (module === undefined || files.has(module.filename)) return
    files.add(module.filename)
    module.children.forEach(add)
  }
  add(require.cache[require.resolve(name)])
  return [...files]
}
