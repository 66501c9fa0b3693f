import { loadConfig } from '../services/config/load.ts'
import type { Settings } from '../services/config/settings/settings.ts'
import { createUrlSigner, sharedSigningKey, signedUrl } from '../services/media/url-signer.ts'
import type { AdminHost } from '../services/operations/admin/admin-host.ts'
import type { SecretBox } from '../services/store/secret-box.ts'
import type { Store } from '../services/store/store.ts'

interface CliHostOptions { store: Store, secretBox: SecretBox, settings: Settings, env: NodeJS.ProcessEnv }

/** The host of operations of the command line, which serves no requests. */
export function createCliHost ({ store, secretBox, settings, env }: CliHostOptions): AdminHost {
  return {
    config: async () => await loadConfig({ path: settings.configPath, env }),
    deployments: null,
    unpriced: () => [],
    provider: () => undefined,
    flushRequestLog: async () => {},
    async mediaUrls () {
      const { publicBaseUrl, host, port, media: { signingKey } } = settings
      const signer = createUrlSigner([signingKey ?? await sharedSigningKey(store, secretBox)])
      const base = (publicBaseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`).replace(/\/v1$/, '')
      return media => signedUrl(signer, media, `${base}/v1`)
    }
  }
}
