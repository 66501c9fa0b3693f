import { createHmac } from 'node:crypto'
import { UpstreamError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { bearerAuth, createVideoClient, type VideoClient } from './video-jobs/client.ts'
import { textOrNull } from './video-jobs/errors.ts'
import { createJwt } from './json-web-token.ts'
import type { VideoProvider } from './provider-video.ts'
import type { Upstream } from './provider.ts'

/** Source: kling.ai/document-api/api/get-started/error-codes. */
const codes = {
  1000: 'auth',
  1001: 'auth',
  1002: 'auth',
  1003: 'auth',
  1004: 'auth',
  1100: 'auth',
  1101: 'quota',
  1102: 'quota',
  1103: 'auth',
  1200: 'bad_request',
  1201: 'bad_request',
  1202: 'bad_request',
  1203: 'not_found',
  1300: 'moderated',
  1301: 'moderated',
  1302: 'rate',
  1303: 'rate',
  1304: 'auth',
  5001: 'overloaded'
} as const

/** A client of Kling, which reports some errors with status 200. */
export function createKlingClient (upstream: Upstream): VideoClient {
  return createVideoClient(upstream, { auth: tokenAuth, codes, errorIn })
}

type Find = NonNullable<VideoProvider['find']>

/**
 * A provider of jobs that have the submit key as their external id, which is unique per account: a second
 * submit is rejected, and the first job can be found. `search` may throw `not_found` instead of null.
 */
export function submittedOnce (provider: VideoProvider, search: Find): VideoProvider {
  const find: Find = async (task, signal) => await search(task, signal).catch(error => {
    if (error instanceof UpstreamError && error.kind === 'not_found') return null
    throw error
  })
  return {
    ...provider,
    submitsOnce: true,
    find,
    async submit (task, signal) {
      try {
        return await provider.submit(task, signal)
      } catch (error) {
        if (!(error instanceof UpstreamError && error.kind === 'bad_request' && error.sent === 'yes')) throw error
        // The submit key may be the reason: an earlier submit has used it.
        const handle = await find(task, signal).catch(() => null)
        if (handle === null) throw error
        return { handle }
      }
    }
  }
}

function errorIn ({ code, message }: JsonObject) {
  return code === 0 || code === undefined ? null : { code: textOrNull(code), message: textOrNull(message) }
}

/** The API key is a bearer token, or `<access key>:<secret key>`, which signs a short-lived one. */
function tokenAuth (apiKey: string) {
  const [accessKey = '', secretKey] = apiKey.split(':')
  return bearerAuth(secretKey === undefined ? apiKey : createToken(accessKey, secretKey))
}

const token = { lifetimeS: 1800, clockSkewS: 5 }

function createToken (accessKey: string, secretKey: string): string {
  const nowS = Math.floor(Date.now() / 1000)
  const claims = { iss: accessKey, exp: nowS + token.lifetimeS, nbf: nowS - token.clockSkewS }
  return createJwt({ alg: 'HS256', typ: 'JWT' }, claims, text => createHmac('sha256', secretKey).update(text).digest())
}
