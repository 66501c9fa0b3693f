import { GatewayError } from '../shared/errors.ts'

/** Ends a request on behalf of a plugin; it does not count as a failure of the provider. */
export class PluginError extends GatewayError {}

/** 500: a hook has failed, and the plugin is not to be skipped. The cause is logged, never sent. */
export function pluginFailed (name: string, cause: unknown): PluginError {
  const message = `The plugin \`${name}\` of this gateway has failed.`
  return new PluginError(500, 'server_error', message, { code: 'plugin_failed', cause })
}

/** The error that a plugin has chosen. Throws TypeError for a status other than 400 to 599. */
export function rejectedBy (status: unknown, message: unknown, code: unknown): PluginError {
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 400 || status > 599) {
    throw new TypeError('reject() takes a status from 400 to 599')
  }
  if (typeof message !== 'string' || message === '') throw new TypeError('reject() takes a message')
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  const isCode = typeof code === 'string' && /^[\w.-]{1,64}$/.test(code)
  // A client that repeats the request gets the same decision.
  const headers: Record<string, string> = status === 429 || status === 503 ? {} : { 'x-should-retry': 'false' }
  return new PluginError(status, type, message, { code: isCode ? code : 'plugin_rejected', headers })
}
