import type { WebhookSecret } from '../../../schemas/admin/accounts.ts'
import { recordChange } from '../../store/audit.ts'
import { isoTime, isoTimeOrNull } from '../../shared/iso-time.ts'
import { rotateWebhookSecret, webhookSecrets, type WebhookSecrets } from '../../videos/webhooks/secrets.ts'
import { getAccount } from './accounts.ts'
import type { Administration } from './administration.ts'

/**
 * Returns the secret that signs the webhooks of an account, created on first use; reading it is audited.
 * Throws GatewayError 404.
 */
export async function getWebhookSecret (
  administration: Administration, account: string
): Promise<WebhookSecret> {
  const { store, secretBox, actor } = administration
  await getAccount(administration, account)
  const secrets = await store.transaction(async queries => {
    const at = store.clock()
    await recordChange(queries, {
      actor, action: 'account.read_webhook_secret', target: `account:${account}`, after: { read_at: isoTime(at) }, at
    })
    return await webhookSecrets(queries, secretBox, account, at)
  })
  return toWebhookSecret(account, secrets)
}

/** Replaces it; for 24 hours, messages have a signature by the old one too. Throws GatewayError 404. */
export async function renewWebhookSecret (
  administration: Administration, account: string
): Promise<WebhookSecret> {
  const { store, secretBox, actor } = administration
  await getAccount(administration, account)
  const secrets = await store.transaction(async queries => {
    const at = store.clock()
    const secrets = await rotateWebhookSecret(queries, secretBox, account, at)
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
