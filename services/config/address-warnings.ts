import { knownProviders } from '../../schemas/config/known-providers.ts'
import type { ProviderConfig } from './catalogue/types.ts'

/** What is odd about the base URL of a provider: the host of another one, or no path. */
export function addressWarnings ({ id, protocol, dialect, baseUrl }: ProviderConfig): string[] {
  const url = URL.parse(baseUrl)
  if (url === null) return []
  const rows = knownProviders.filter(row => row.protocol === protocol)
  const usual = rows.find(row => protocol !== 'openai' || row.dialect === dialect)
  const usualPath = URL.parse(usual?.baseUrl ?? '')?.pathname ?? '/v1'
  const atHost = knownProviders.filter(row => URL.parse(row.baseUrl ?? '')?.host === url.host)
  const [other] = atHost
  const isSame = atHost.some(row => row.protocol === protocol && row.dialect === dialect)
  // Two providers have an API in OpenAI's form beside their own.
  const isInForm = protocol === 'openai' && (other?.protocol === 'anthropic' || url.pathname.endsWith('/openai'))
  if (other !== undefined && !isSame && !isInForm) {
    return [`the provider ${id} has the base_url of ${other.id}, but the dialect ${dialect} (${protocol})`]
  }
  if (url.pathname !== '/' || usualPath === '/' || protocol === 'sandbox') return []
  return [`the base_url of the provider ${id} has no path; the API of such servers is usually at ${usualPath}`]
}
