import type { AlertSettings } from '../../../schemas/config/alerts.ts'
import type { Network } from '../../media/public-connector.ts'
import type { Log } from '../../shared/log.ts'
import type { Store } from '../../store/store.ts'
import { createDelivery, type DueMessage } from '../../videos/webhooks/deliver.ts'
import { createPoster } from '../../videos/webhooks/post.ts'

type AlertWebhook = NonNullable<AlertSettings['webhook']>

interface DeliveryContext {
  store: Store
  log: Log
  /** Origins that may be private or plain HTTP. */
  trustedOrigins: readonly string[]
  network?: Network
}

const atOnce = 20

/** Creates the delivery of alerts, one attempt at a time across all nodes. */
export function createAlertDelivery ({ store, log, ...options }: DeliveryContext) {
  const poster = createPoster(options)
  const delivery = createDelivery({
    store,
    log,
    poster,
    outbox: {
      table: 'alert',
      name: 'an alert',
      atOnce,
      atOncePerGroup: atOnce,
      groupOf: () => '',
      due: limit => store.all<DueMessage>(`
        select id, body, attempts from alert where next_attempt_at <= now_ms() order by next_attempt_at limit ${limit}`)
    }
  })

  return {
    counts: delivery.counts,
    /** Sends due alerts. Throws StoreUnavailable. */
    async deliverDue ({ url, secret }: AlertWebhook, signal: AbortSignal): Promise<void> {
      await Promise.all(await delivery.start(() => ({ url, secrets: [secret] }), signal))
    },
    close: poster.close
  }
}
