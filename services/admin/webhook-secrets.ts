import type { WebhookSecret } from '../../schemas/admin/accounts.ts'
import { recordChange } from '../audit/audit.ts'
import { isoTime, isoTimeOrNull } from '../shared/iso-time.ts'
import { rotateWebhookSecret, webhookSecrets, type WebhookSecrets } from '../webhooks/secrets.ts'
import { getAccount } from './accounts.ts'
import type { Administration } from './administration.ts'

/** Returns the secret that signs the webhooks of an account, made on first use. Throws GatewayError 404. */
export async function getWebhookSecret (
  administration: Administration, account: string
): Promise<WebhookSecret> {
  const { store } = administration
  await getAccount(administration, account)
  return toWebhookSecret(account, await webhookSecrets(store, account, store.clock()))
}

/** Replaces it; for 24 hours, messages have a signature by the old one too. Throws GatewayError 404. */
export async function renewWebhookSecret (
  administration: Administration, account: string
): Promise<WebhookSecret> {
  const { store, actor } = administration
  await getAccount(administration, account)
  const secrets = await store.transaction(async queries => {
    const at = store.clock()
    const secrets = await rotateWebhookSecret(queries, account, at)
    await recordChange(queries, {
      actor, action: 'account.rotate_webhook_secret', target: `account:${account}`, after: { webhook_secret_since: isoTime(at) }, at
    })
    return secrets
  })
  return toWebhookSecret(account, secrets)
}

function toWebhookSecret (
  account: string, { current, previous, previousUntil }: WebhookSecrets
): WebhookSecret {
  return {
    object: 'webhook_secret',
    account,
    secret: current,
    previous_secret: previous,
    previous_until: isoTimeOrNull(previousUntil)
  }
}
