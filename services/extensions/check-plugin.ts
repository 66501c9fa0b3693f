import { isObject } from '../shared/json.ts'
import type { TollgatePlugin } from './types.ts'

const hooks = ['authenticate', 'request', 'attempt', 'chunk', 'response', 'settled', 'close'] as const
/** Every member that a plugin may have. */
export const members: ReadonlySet<string> = new Set<string>(['name', 'onError', 'timeoutMs', 'providers', ...hooks])
const maxTimeoutMs = 600_000

/** Throws TypeError if the value is not a plugin; the message continues the plugin's name. */
export function checkPlugin (plugin: unknown): asserts plugin is TollgatePlugin {
  if (!isObject(plugin)) throw new TypeError('is not a plugin: it must be an object, or a function that returns one')
  const { name, onError, timeoutMs, providers } = plugin
  if (typeof name !== 'string' || !/^[\w.@/-]{1,64}$/.test(name)) {
    throw new TypeError('has no name of 1 to 64 letters, digits and . _ - / @')
  }
  const unknown = Object.keys(plugin).find(member => !members.has(member))
  if (unknown !== undefined) throw new TypeError(`has an unknown hook \`${unknown.slice(0, 64)}\``)
  const wrong = hooks.find(hook => plugin[hook] !== undefined && typeof plugin[hook] !== 'function')
  if (wrong !== undefined) throw new TypeError(`has a hook \`${wrong}\` that is not a function`)
  if (onError !== undefined && onError !== 'fail' && onError !== 'skip') throw new TypeError('has an onError other than fail and skip')
  if (timeoutMs !== undefined && !isTimeout(timeoutMs)) throw new TypeError(`has a timeoutMs that is not from 1 to ${maxTimeoutMs}`)
  checkProviders(providers)
}

function checkProviders (providers: unknown): void {
  if (providers === undefined) return
  if (!isObject(providers)) throw new TypeError('has providers that are not an object')
  for (const [protocol, provider] of Object.entries(providers)) {
    if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(protocol)) throw new TypeError(`has a protocol with the invalid name \`${protocol.slice(0, 64)}\``)
    if (!isObject(provider) || typeof provider.chat !== 'function') throw new TypeError(`has a protocol \`${protocol}\` without chat()`)
  }
}

function isTimeout (value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 1 && value <= maxTimeoutMs
}
