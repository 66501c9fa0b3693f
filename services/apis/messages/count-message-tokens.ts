import type { IncomingHttpHeaders } from 'node:http'
import type { CountTokensRequest } from '../../../schemas/anthropic/messages.ts'
import { estimatePrompt } from '../../billing/estimate-usage.ts'
import { isPolicy, planFor, type Catalogue } from '../../requests/candidates.ts'
import { UpstreamError } from '../../shared/errors.ts'
import type { JsonText } from '../../shared/json.ts'
import type { RegionList } from '../../shared/regions.ts'
import { versionHeadersOf } from './native.ts'
import { refuseUnpriced } from './native-needs.ts'
import { promptOf } from './to-chat.ts'

interface Question {
  request: CountTokensRequest
  /** The body as received. */
  original: JsonText
  headers: IncomingHttpHeaders
  mayUse (model: string): boolean
  /** Where the key's requests may be processed. */
  regions: RegionList
  signal: AbortSignal
}

/**
 * The tokens of a prompt: counted by the model's provider where that has this API, else estimated. Throws
 * GatewayError 400 or 404, and UpstreamError if the provider refuses the prompt.
 */
export async function countPromptTokens (
  { request, original, headers, mayUse, regions, signal }: Question, catalogue: Catalogue
): Promise<number> {
  refuseUnpriced(request)
  const { model } = request
  const wanted = { kind: 'chat' as const, model, mayUse, regions: [regions] }
  const requested = isPolicy(model) ? [] : planFor(wanted, catalogue).requested
  for (const { provider, deployment } of requested) {
    const { countMessageTokens: count, messageModels: models } = provider
    if (count === undefined || models?.test(deployment.model) === false) continue
    try {
      const versionHeaders = versionHeadersOf(headers)
      return await count({ original, model: deployment.model, versionHeaders, signal })
    } catch (error) {
      // Servers that speak this API need not have this endpoint, and an estimate is better than a failure.
      if (error instanceof UpstreamError && error.kind === 'bad_request') throw error
      if (signal.aborted) throw error
    }
  }
  return Math.max(1, await estimatePrompt(promptOf(request)))
}
