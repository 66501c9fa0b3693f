import { Agent, request, type Dispatcher } from 'undici'
import type { AlertSettings } from '../../schemas/config/alerts.ts'
import { createPublicConnector, type Network } from '../media/public-connector.ts'
import type { Log } from '../shared/log.ts'
import type { Store } from '../store/store.ts'
import { signatureHeaders } from './sign.ts'

export type Webhook = NonNullable<AlertSettings['webhook']>

interface DeliveryContext {
  store: Store
  log: Log
  /** Origins that may be private or plain HTTP. */
  trustedOrigins: readonly string[]
  network?: Network
}

interface DueAlert { id: string, body: string, attempts: number }

/** How the attempts of all alerts of this node went. */
export interface DeliveryCounts { delivered: number, failed: number, givenUp: number }

const secondMs = 1_000
const hourMs = 3_600_000
/** The waits after failed attempts, as Standard Webhooks suggests; then the alert is given up. */
const waitsMs = [5 * secondMs, 300 * secondMs, hourMs / 2, 2 * hourMs, 5 * hourMs, 10 * hourMs, 10 * hourMs]
const timeoutMs = 15_000
/** After this time, another node takes over the alert of one that died meanwhile. */
const claimMs = 60_000
const atOnce = 20

/** Creates the delivery of alerts, one attempt at a time across all nodes. */
export function createAlertDelivery ({ store, log, trustedOrigins, network = {} }: DeliveryContext) {
  const counts: DeliveryCounts = { delivered: 0, failed: 0, givenUp: 0 }
  // Separate pools: a connection to a private address must never serve an untrusted URL.
  const open = new Agent({ connect: createPublicConnector(network, timeoutMs) })
  const trusted = new Agent({ connect: { timeout: timeoutMs } })

  async function attempt (
    { id, body, attempts }: DueAlert, webhook: Webhook, signal: AbortSignal
  ): Promise<void> {
    const claimed = await store.run(`
      update alert set attempts = attempts + 1, next_attempt_at = now_ms() + $3
      where id = $1 and attempts = $2 and next_attempt_at is not null`, [id, attempts, claimMs])
    if (claimed === 0) return
    try {
      await send({ id, timestampS: Math.floor(store.clock() / secondMs), body }, webhook, signal)
      counts.delivered++
      await store.run(`
        update alert set delivered_at = now_ms(), next_attempt_at = null, last_error = null where id = $1`, [id])
    } catch (error) {
      const waitMs = waitsMs[attempts]
      counts.failed++
      if (waitMs === undefined) counts.givenUp++
      const message = error instanceof Error ? error.message : String(error)
      // Only of its own attempt: a node that hung for longer than its claim may be late.
      await store.run(`
        update alert set next_attempt_at = now_ms() + cast($2 as bigint), last_error = $3
        where id = $1 and attempts = $4 and delivered_at is null`,
      [id, waitMs === undefined ? null : withJitter(waitMs), message.slice(0, 500), attempts + 1])
      const details = { alert: id, attempts: attempts + 1, err: error }
      if (waitMs === undefined) log.error(details, 'an alert could not be delivered and is given up')
      else log.warn(details, 'an alert could not be delivered')
    }
  }

  async function send (
    message: Parameters<typeof signatureHeaders>[0], { url, secret }: Webhook, signal: AbortSignal
  ): Promise<void> {
    const target = new URL(url)
    const isTrusted = trustedOrigins.includes(target.origin)
    if (!isTrusted && target.protocol !== 'https:') throw new Error('the URL is not an HTTPS URL')
    const { statusCode, body } = await request(target, {
      method: 'POST',
      dispatcher: isTrusted ? trusted : open,
      headers: {
        'content-type': 'application/json', 'user-agent': 'tollgate', ...signatureHeaders(message, secret)
      },
      body: message.body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    })
    discard(body)
    if (statusCode < 200 || statusCode > 299) throw new Error(`the webhook answered with HTTP ${statusCode}`)
  }

  return {
    counts,
    /** Sends what is due. Throws StoreUnavailable. */
    async deliverDue (webhook: Webhook, signal: AbortSignal): Promise<void> {
      const due = await store.all<DueAlert>(`
        select id, body, attempts from alert where next_attempt_at <= now_ms() order by next_attempt_at limit ${atOnce}`)
      for (const alert of due) {
        if (signal.aborted) return
        await attempt(alert, webhook, signal)
      }
    },
    async close (): Promise<void> {
      await Promise.all([open.destroy(), trusted.destroy()])
    }
  }
}

function discard (body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => {}).destroy()
}

/** Up to a tenth more, so that what failed together is not tried together. */
function withJitter (waitMs: number): number {
  return Math.round(waitMs * (1 + Math.random() / 10))
}
