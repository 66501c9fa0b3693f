import { createRequire } from 'node:module'
import { dirname, isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { protocolNames } from '../../schemas/config/known-providers.ts'
import type { GatewayConfig, PluginConfig } from '../config/catalogue/types.ts'
import { ConfigError, type Problem } from '../config/config-error.ts'
import { checkPlugin, members } from './check-plugin.ts'
import type { TollgatePlugin } from './types.ts'

/** The shipped plugins; each is loaded on first use. */
const shipped: Readonly<Record<string, () => Promise<object>>> = {
  'tollgate/guardrail': () => import('./shipped/guardrail.ts'),
  'tollgate/jwt': () => import('./shipped/jwt.ts'),
  'tollgate/prompt-log': () => import('./shipped/prompt-log.ts'),
  'tollgate/redact': () => import('./shipped/redact.ts')
}

/**
 * Loads plugins in their order, after those that are `given`; their paths are relative to the file `source`.
 * Rejects with ConfigError, which names each plugin that cannot be loaded and its line, and with TypeError if
 * a given one is not a plugin.
 */
export async function loadPlugins (
  plugins: readonly PluginConfig[], source: string, given: readonly TollgatePlugin[] = []
): Promise<TollgatePlugin[]> {
  checkGiven(given)
  const loaded = [...given]
  const problems: Problem[] = []
  for (const [index, entry] of plugins.entries()) {
    try {
      const plugin = await load(entry, source)
      if (loaded.some(({ name }) => name === plugin.name)) throw new TypeError(`has the name ${plugin.name}, as an earlier plugin`)
      loaded.push(plugin)
    } catch (error) {
      const { line, column } = entry
      problems.push({ path: `plugins[${index}]`, line, column, message: `${entry.use} ${reasonOf(error)}` })
    }
  }
  if (problems.length > 0) throw new ConfigError(source, problems)
  return loaded
}

function checkGiven (plugins: readonly unknown[]): void {
  for (const [index, plugin] of plugins.entries()) {
    try {
      checkPlugin(plugin)
    } catch (error) {
      throw new TypeError(`plugins[${index}] ${reasonOf(error)}`)
    }
  }
}

async function load (
  { use, options, onError, timeoutMs }: PluginConfig, source: string
): Promise<TollgatePlugin> {
  const module = await importPlugin(use, source)
  const exported: unknown = Reflect.get(module, 'default')
  const plugin: unknown = typeof exported === 'function' ? await exported(options) : exported
  if (typeof exported !== 'function' && Object.keys(options).length > 0) throw new TypeError('takes no options')
  checkPlugin(plugin)
  const settings = { ...onError !== null && { onError }, ...timeoutMs !== null && { timeoutMs } }
  return { ...asPlainObject(plugin), ...settings }
}

/** The same plugin as a plain object: spreading an instance of a class would lose its methods. */
function asPlainObject (plugin: TollgatePlugin): TollgatePlugin {
  const entries = [...members].flatMap(member => {
    const value: unknown = Reflect.get(plugin, member)
    return value === undefined ? [] : [[member, typeof value === 'function' ? value.bind(plugin) : value]]
  })
  return { ...plugin, ...Object.fromEntries(entries) }
}

async function importPlugin (use: string, source: string): Promise<object> {
  const own = Object.hasOwn(shipped, use) ? shipped[use] : undefined
  if (own !== undefined) return await own()
  try {
    return await import(pathToFileURL(fileOf(use, source)).href)
  } catch (error) {
    throw new Error(`cannot be loaded: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A path by its dot or slash, else a package that the folder of the file finds. */
function fileOf (use: string, source: string): string {
  if (/^\.{1,2}[/\\]/.test(use)) return resolve(dirname(source), use)
  return isAbsolute(use) ? use : createRequire(resolve(source)).resolve(use)
}

/** Throws ConfigError for a provider whose protocol is neither built in nor one of these plugins. */
export function checkProtocols<Config extends Pick<GatewayConfig, 'providers'>> (
  config: Config, plugins: readonly TollgatePlugin[], source: string
): Config {
  const brought = plugins.flatMap(({ providers }) => Object.keys(providers ?? {}))
  const protocols = new Set<string>([...protocolNames, ...brought])
  const wrong = config.providers.filter(({ protocol }) => !protocols.has(protocol))
  if (wrong.length === 0) return config
  throw new ConfigError(source, wrong.map(({ id, protocol }) => {
    const message = `the provider ${id} has the protocol ${protocol}, which no plugin brings`
    return { path: 'providers', line: null, column: null, message }
  }))
}
