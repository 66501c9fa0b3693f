import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig } from '../config/catalogue/types.ts'
import type { Ledger } from '../billing/ledger/ledger.ts'
import type { Exchange } from '../requests/exchange.ts'
import { routeHeader } from '../routing/describe.ts'
import type { Router } from '../routing/router.ts'
import type { RouterDecision } from '../routing/types.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { outputLimitOf } from '../shared/request-fields.ts'
import type { Candidate } from '../requests/candidates.ts'
import { leastMeans } from '../billing/max-cost.ts'
import { tokenPriceOf, type TokenPrice } from '../billing/token-price.ts'
import { toRoutedChat } from './legacy.ts'

/** Selects the model of requests to `auto` and the other policies. */
export type AutoModel = ReturnType<typeof createAutoModel>

const maxFallbacks = 7

/** Creates an `AutoModel` that selects among the models that the key may use and its accounts can pay. */
export function createAutoModel (router: Router, ledger: Pick<Ledger, 'means'>) {
  return {
    /**
     * Returns a model and its fallbacks; `isResponse`: the request came to the Responses API. Throws
     * GatewayError 400 when no model qualifies or a legacy completion has what no chat has, 404 for an
     * unknown policy.
     */
    async select (exchange: Exchange<ChatCompletionRequest | CompletionRequest>, isResponse = false) {
      const { body, rawBody, payer, mayUse, regions, conversation } = exchange
      const { availableNano } = await leastMeans(ledger, payer.chain)
      const decision = router.decide({
        request: 'messages' in body ? body : toRoutedChat(body),
        key: payer.key,
        mayUse,
        regions,
        conversation,
        candidates: null,
        isResponse,
        bodyBytes: rawBody.bytes.length,
        availableNano
      })
      const [first, ...others] = attemptOrder(decision)
      return {
        model: first ?? body.model,
        fallbacks: others.slice(0, maxFallbacks),
        /** The most that the request may cost; null: no limit. */
        ceilingNano: decision.ceilingNano,
        /** Where the policy's requests may be processed. */
        regions: decision.regions,
        bestPrice: bestPriceOf(decision),
        /** How long to wait for a candidate before another one is called; null while that is not known. */
        patience: patienceFor(body, Number(decision.signals.outputTokens ?? 0)),
        /** Makes the model that answered sticky; returns the value of `x-tollgate-route`. */
        routeOf (model: string): string {
          router.stick(decision, model)
          return routeHeader(decision, model)
        },
        /** Removes the sticky model, because none answered; returns what the client gets for the failure. */
        failureOf (error: unknown): unknown {
          router.unstick(decision)
          return isMissing(error) ? noneServed(error) : error
        }
      }
    }
  }
}

/** How much longer than usual a provider may be silent before a policy goes elsewhere. */
const patience = { factor: 2, moreMs: 100, answerFactor: 3 }

/** How long to wait for a candidate of a policy, by what is usual for it; null while that is not known. */
function patienceFor (request: ChatCompletionRequest | CompletionRequest, expectedTokens: number) {
  const most = Math.min(expectedTokens * patience.answerFactor, outputLimitOf(request) ?? Infinity)
  const tokens = request.stream === true ? null : most * (request.n ?? 1)
  return ({ health }: Candidate): number | null => {
    const usualMs = health.statistics.usualWaitMs(tokens)
    return usualMs === null ? null : usualMs * patience.factor + patience.moreMs
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof UpstreamError && error.kind === 'not_found' && error.details.missingUrl === undefined

/** 503 for a policy: the client named none of these models, and they are left out from now on. */
function noneServed (cause: unknown): GatewayError {
  return GatewayError.unavailable('The providers do not serve the models that were tried. Please try again.',
    { code: 'model_unavailable', cause })
}

/** The price of the best candidate at its first deployment; null if it has none there. */
function bestPriceOf ({ best, candidates }: RouterDecision): TokenPrice | null {
  const model = candidates.find(({ id }) => id === best.id)
  const price = model?.deployments[0]?.price ?? model?.price ?? null
  if (price === null || price.inputPico === null || price.outputPico === null) return null
  return tokenPriceOf({ id: best.id, price })
}

/**
 * The ids of the models in the order of trying. If all candidates are at one provider, the best models
 * elsewhere that would drop a parameter come last: better an answer without it than none.
 */
function attemptOrder ({ candidates, reserve }: Pick<RouterDecision, 'candidates' | 'reserve'>): string[] {
  const order = bestOfEachProvider(candidates)
  const deployments = candidates.flatMap(({ deployments }) => deployments)
  const providers = new Set(deployments.map(({ provider }) => provider))
  if (providers.size > 1 || reserve.length === 0) return order
  const isElsewhere = ({ deployments }: ModelConfig): boolean =>
    deployments.some(({ provider }) => !providers.has(provider))
  const elsewhere = reserve.filter(isElsewhere)
  const others = bestOfEachProvider(elsewhere).slice(0, maxReserve)
  return [...order.slice(0, maxFallbacks + 1 - others.length), ...others]
}

const maxReserve = 3

/** The ids of the models in their order, but first the best at each provider: all of one may fail. */
function bestOfEachProvider (models: readonly ModelConfig[]): string[] {
  const seen = new Set<string>()
  const best: string[] = []
  const others: string[] = []
  for (const { id, deployments } of models) {
    const isElsewhere = deployments.some(({ provider }) => !seen.has(provider))
    for (const { provider } of deployments) seen.add(provider)
    const list = isElsewhere ? best : others
    list.push(id)
  }
  return [...best, ...others]
}
