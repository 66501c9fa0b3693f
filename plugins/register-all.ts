import type { FastifyInstance, FastifyPluginCallback } from 'fastify'

/** A plugin with its options. */
export interface Registration {
  name: string
  /** Names of the plugins that come first. */
  dependencies: readonly string[]
  register (app: FastifyInstance): PromiseLike<unknown>
}

interface PluginMeta { name?: string, dependencies?: readonly string[] }

/** Pairs a plugin with its options; the plugin names itself and its dependencies through `fastify-plugin`. */
export function withOptions<Options extends object> (
  plugin: FastifyPluginCallback<Options>, options: NoInfer<Options>
): Registration {
  const { name = plugin.name, dependencies = [] }: PluginMeta = Reflect.get(plugin, Symbol.for('plugin-meta')) ?? {}
  return { name, dependencies, register: app => app.register(plugin, options) }
}

/**
 * Registers plugins, each after those it depends on; otherwise in the given order. Fastify throws for a
 * dependency that is missing.
 */
export async function registerAll (app: FastifyInstance, plugins: readonly Registration[]): Promise<void> {
  const byName = new Map(plugins.map(plugin => [plugin.name, plugin]))
  const visited = new Set<Registration>()

  async function visit (plugin: Registration): Promise<void> {
    if (visited.has(plugin)) return
    visited.add(plugin)
    for (const name of plugin.dependencies) {
      const dependency = byName.get(name)
      if (dependency !== undefined) await visit(dependency)
    }
    await plugin.register(app)
  }

  for (const plugin of plugins) await visit(plugin)
}
