import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { GatewayError } from '../shared/errors.ts'
import { leastAvailable } from '../billing/least-available.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Router } from '../routing/router.ts'
import { routeHeader } from '../routing/describe.ts'
import type { Feedback } from '../routing/feedback/feedback.ts'
import type { Incoming } from '../requests/incoming.ts'

/** A model that was chosen for a request, and those to try when it does not answer. */
export interface Selected {
  model: string
  fallbacks: readonly string[]
  /** Notes which of them answered; returns what the client is told of the choice. */
  answered (model: string): string
  /** Notes that none did. */
  failed (): void
}

/** Chooses for requests that leave the model to the gateway. */
export interface Selector {
  /**
   * Throws GatewayError 400 when no model qualifies, 404 for an unknown policy or where there is no choice.
   */
  select (incoming: Incoming<ChatCompletionRequest | CompletionRequest>): Promise<Selected>
}

/** The header by which a client names a conversation. */
export const conversationHeader = 'x-tollgate-conversation'

const maxFallbacks = 2
const maxNameLength = 200

export function conversationOf (header: string | string[] | undefined): string | null {
  return typeof header === 'string' && header !== '' ? header.slice(0, maxNameLength) : null
}

/** Lets the router choose among what the key may use and its accounts can pay. */
export function createSelector (
  router: Router, feedback: Feedback, ledger: Pick<Ledger, 'availableHint'>
): Selector {
  return {
    async select ({ request, requestId, payer, mayUse, conversation }) {
      if (!('messages' in request)) throw GatewayError.modelNotFound(request.model)
      const decision = router.decide({
        request,
        key: payer.key,
        mayUse,
        conversation: conversation ?? request.prompt_cache_key ?? null,
        candidates: null,
        availableNano: await leastAvailable(ledger, payer.chain)
      })
      const [first, ...others] = decision.candidates.map(({ id }) => id)
      return {
        model: first ?? request.model,
        fallbacks: others.slice(0, maxFallbacks),
        answered (model) {
          router.keep(decision, model)
          const expected = decision.scored.find(({ id }) => id === model)?.quality
          if (expected !== undefined) {
            feedback.note(requestId, { key: payer.key, model, domain: decision.domain, expected })
          }
          return routeHeader(decision, model)
        },
        failed: () => router.release(decision)
      }
    }
  }
}
