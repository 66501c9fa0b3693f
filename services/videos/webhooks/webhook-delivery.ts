import type { Network } from '../../media/public-connector.ts'
import type { Log } from '../../shared/log.ts'
import { periodically } from '../../shared/timers.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import type { Store } from '../../store/store.ts'
import { createDelivery, type DueMessage } from './deliver.ts'
import { createPoster, type Receiver } from './post.ts'
import { webhookSecrets } from './secrets.ts'

interface WebhookDeliveryOptions {
  store: Store
  secretBox: SecretBox
  log: Log
  /** Origins that may be private or plain HTTP. */
  trustedOrigins: readonly string[]
  /** Between two looks for messages that are due, in ms. */
  everyMs: number
  network?: Network | undefined
}

interface DueWebhook extends DueMessage { account: string, url: string }

const atOnce = 32
/** A server that does not respond delays only the messages of its account. */
const atOncePerAccount = 4

/** Delivers the webhooks of jobs, whichever node has ended them. */
export function startWebhookDelivery (
  { store, secretBox, log, trustedOrigins, everyMs, network = {} }: WebhookDeliveryOptions
) {
  const poster = createPoster({ trustedOrigins, network })
  const delivery = createDelivery<DueWebhook>({
    store,
    log,
    poster,
    outbox: {
      table: 'webhook',
      name: 'a webhook',
      atOnce,
      atOncePerGroup: atOncePerAccount,
      groupOf: ({ account }) => account,
      due: limit => store.all<DueWebhook>(`
        select id, body, attempts, account, url from (
          select id, body, attempts, account, url, next_attempt_at,
            row_number() over (partition by account order by next_attempt_at) as place
          from webhook where next_attempt_at <= now_ms()
        ) as due where place <= ${atOncePerAccount} order by place, next_attempt_at limit ${limit}`)
    }
  })

  async function receiverOf ({ account, url }: DueWebhook): Promise<Receiver> {
    const { current, previous } = await webhookSecrets(store, secretBox, account, store.clock())
    return { url, secrets: previous === null ? [current] : [current, previous] }
  }

  const closing = new AbortController()
  const look = async (): Promise<void> => { await delivery.start(receiverOf, closing.signal) }
  const looking = periodically(() => everyMs, look, err => log.warn({ err }, 'webhooks could not be looked for'))
  return {
    counts: delivery.counts,
    /** Breaks off the running attempts; another node or the next start sends those messages again. */
    async close (): Promise<void> {
      closing.abort()
      await looking.stop()
      await delivery.idle()
      await poster.close()
    }
  }
}
