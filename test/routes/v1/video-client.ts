import type { Test } from 'tap'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { videoDefaults } from '../../../services/config/defaults.ts'
import type { VideoSettings } from '../../../services/config/catalogue/types.ts'
import { hastenVideos, startGateway } from '../../helpers/gateway.ts'
import type { Gateway } from '../../helpers/gateway.ts'

/** A gateway whose sandbox makes videos within milliseconds. */
export async function startVideoGateway (
  t: Test, env: Record<string, string> = {}, settings: Partial<VideoSettings> = {}
): Promise<Gateway> {
  const config = { ...configFromEnvironment({}), video: { ...videoDefaults, ...settings } }
  const gateway = await startGateway(t, { config, env })
  hastenVideos(gateway, { minMs: 20, maxMs: 40 })
  return gateway
}

interface Sent { headers?: Record<string, string>, body?: string | FormData }

/** Sends a request with the key, and reads the answer as JSON. */
export async function send (
  { url, key }: Pick<Gateway, 'url' | 'key'>, path: string, { headers = {}, body }: Sent = {}, method = 'POST'
) {
  const answer = await fetch(`${url}${path}`, {
    method, headers: { authorization: `Bearer ${key}`, ...headers }, ...body !== undefined && { body }
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) }
}

export const small = { model: 'sandbox-video', seconds: '2', size: '64x36' }
export const json = { 'content-type': 'application/json' }

/** Starts a small video. */
export async function create (
  gateway: Pick<Gateway, 'url' | 'key'>, body: object, headers: Record<string, string> = {}
) {
  return await send(gateway, '/videos', { headers: { ...json, ...headers }, body: JSON.stringify({ ...small, ...body }) })
}

export async function createByForm (gateway: Gateway, fields: Record<string, string | Blob>) {
  const form = new FormData()
  for (const [name, value] of Object.entries({ ...small, ...fields })) form.append(name, value)
  return await send(gateway, '/videos', { body: form })
}

const isOver = 'finished_at is not null and background = 2'

/** Resolves when all jobs have ended and all clients are known to have been told. */
export async function ended ({ app: { store, ledger } }: Gateway): Promise<void> {
  while ((await store.get<{ n: number }>(`select count(*) as n from job where not (${isOver})`))?.n !== 0) {
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await ledger.flush()
}
