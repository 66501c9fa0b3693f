import { isObject } from '../shared/json.ts'
import { createHookRunner, type HookedRequest } from './hook-runner.ts'
import type { Identity, LoginRequest, TollgatePlugin } from './types.ts'

/** A user identified by a plugin. */
export interface Login { plugin: string, identity: Identity }

/**
 * Calls `authenticate` of the plugins in order until one identifies the sender of a request; null if none
 * does. Throws PluginError.
 */
export async function logIn (
  plugins: readonly TollgatePlugin[], login: LoginRequest,
  request: Omit<HookedRequest, 'key' | 'account' | 'tags' | 'problemIn'>
): Promise<Login | null> {
  const runner = createHookRunner(plugins, { ...request, key: '', account: '', tags: null, problemIn: () => null })
  for (const running of runner.active) {
    const { plugin, context } = running
    if (plugin.authenticate === undefined) continue
    const copy = { ...login, headers: { ...login.headers } }
    const found = await runner.run(running, 'authenticate', () => plugin.authenticate?.(copy, context), checkedIdentity)
    if (found === null || 'completion' in found || found.identity === null) continue
    runner.enter(running)
    return { plugin: plugin.name, identity: found.identity }
  }
  return null
}

/** Throws TypeError for an invalid identity. */
function checkedIdentity (returned: unknown): { identity: Identity | null } {
  if (returned === null || returned === undefined) return { identity: null }
  if (!isObject(returned)) throw new TypeError('authenticate() returned no identity')
  const { account, subject, createAccount = false, models, ...more } = returned
  if (!isName(account, 128)) throw new TypeError('authenticate() returned no account')
  if (!isName(subject, 256)) throw new TypeError('authenticate() returned no subject')
  if (typeof createAccount !== 'boolean') throw new TypeError('createAccount is not true or false')
  const identity: Identity = { account, subject, createAccount }
  if (models !== undefined) {
    const areNames = Array.isArray(models) && models.every(model => isName(model, 256))
    if (!areNames) throw new TypeError('models is not a list of names')
    identity.models = [...models]
  }
  for (const name of ['requestsPerMinute', 'tokensPerMinute', 'concurrentRequests'] as const) {
    const limit = more[name]
    if (limit === undefined) continue
    const isLimit = typeof limit === 'number' && Number.isSafeInteger(limit) && limit > 0
    if (!isLimit) throw new TypeError(`${name} is not a positive integer`)
    identity[name] = limit
  }
  return { identity }
}

function isName (value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= maxLength && !/\p{Cc}/u.test(value)
}
