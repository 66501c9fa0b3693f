import type { Log } from '../shared/log.ts'
import { catchEscaped } from './attribution.ts'
import { checkPlugin } from './check-plugin.ts'
import { defaultTimeoutMs, escaped, type HookedRequest } from './hook-runner.ts'
import { logIn, type Login } from './login.ts'
import { ownProvider } from './own-provider.ts'
import { runHook } from './run-hook.ts'
import { readsChats, RequestHooks } from './request-hooks.ts'
import type { LoginRequest, SettledRecord, TollgatePlugin } from './types.ts'

export type Extensions = ReturnType<typeof createExtensions>

type Request = Omit<HookedRequest, 'log'>

/**
 * The plugins of a gateway, in the order in which their hooks run. Throws TypeError for an invalid
 * plugin, and for a name or protocol that is taken.
 */
export function createExtensions (plugins: readonly TollgatePlugin[], log: Log) {
  const protocols = new Map<string, ReturnType<typeof ownProvider>>()
  const names = new Set<string>()
  for (const plugin of plugins) {
    checkPlugin(plugin)
    if (names.has(plugin.name)) throw new TypeError(`Two plugins have the name ${plugin.name}.`)
    names.add(plugin.name)
    for (const [name, definition] of Object.entries(plugin.providers ?? {})) {
      if (protocols.has(name)) throw new TypeError(`Two plugins have the protocol ${name}.`)
      protocols.set(name, ownProvider(plugin.name, definition, log))
    }
  }
  const logins = plugins.filter(({ authenticate }) => authenticate !== undefined)
  const hooked = plugins.filter(plugin =>
    readsChats(plugin) || (plugin.attempt ?? plugin.settled) !== undefined)
  const stopCatching = catchEscaped()

  /** Runs a hook outside of a request; failures are logged. */
  async function runAlone (plugin: TollgatePlugin, hook: string, run: () => unknown): Promise<void> {
    const { name, timeoutMs = defaultTimeoutMs } = plugin
    const onEscaped = (err: unknown): void => log.error({ plugin: name, hook, err }, escaped)
    try {
      await runHook(run, { timeoutMs, onEscaped })
    } catch (err) {
      log.warn({ plugin: name, hook, err }, 'a hook of a plugin has failed')
    }
  }

  return {
    /** The protocols of plugins, by name. */
    protocols,
    /** Whether providers must be called for chats alone, because a plugin reads them. */
    readsChats: plugins.some(readsChats),
    hasLogins: logins.length > 0,

    /** The hooks for one request; null if no plugin has any. */
    begin (request: Request): RequestHooks | null {
      return hooked.length === 0 ? null : new RequestHooks(hooked, { ...request, log })
    },

    /** Identifies the sender of a request; null if no plugin does. Throws PluginError. */
    async logIn (login: LoginRequest, request: Omit<Request, 'key' | 'account' | 'tags' | 'problemIn'>): Promise<Login | null> {
      return await logIn(logins, login, { ...request, log })
    },

    /** Reports the end of a video's job, which may have begun on another node. */
    async jobSettled (record: SettledRecord): Promise<void> {
      for (const plugin of hooked) await runAlone(plugin, 'settled', () => plugin.settled?.({ ...record }, null))
    },

    /** Closes the plugins. */
    async close (): Promise<void> {
      await Promise.all(plugins.map(plugin => runAlone(plugin, 'close', () => plugin.close?.())))
      stopCatching()
    }
  }
}
