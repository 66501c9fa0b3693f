import type { PluginConfig, PluginList } from '../../../schemas/config/plugins.ts'
import type { YamlDocument } from '../yaml/document.ts'

/** Returns the plugins of the file in its order, each with its place. */
export function readPlugins (list: PluginList, document: YamlDocument): PluginConfig[] {
  return list.map((item, index) => {
    const place = document.place(['plugins', index])
    if (typeof item === 'string') return { use: item, onError: null, timeoutMs: null, options: {}, ...place }
    const { use, on_error: onError = null, timeout_ms: timeoutMs = null, options = {} } = item
    return { use, onError, timeoutMs, options, ...place }
  })
}
