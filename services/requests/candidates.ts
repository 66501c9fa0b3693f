import type { DeploymentConfig, ModelConfig, Price } from '../catalogue/types.ts'
import type { Deployment, Deployments } from '../deployments/deployments.ts'
import { GatewayError } from '../shared/errors.ts'
import { isDearer } from '../billing/price-compare.ts'
import type { Resolved } from '../models/registry.ts'
import type { ChatProvider, Provider } from '../providers/provider.ts'

/** A place where a request can be answered. */
export interface Candidate {
  model: ModelConfig
  deployment: DeploymentConfig
  provider: ChatProvider
  /** What it costs there; null: it cannot be sold. */
  price: Price | null
  /** Whether it works, and how fast. */
  known: Deployment
}

/** Where the use case finds models and providers; all may be replaced while requests run. */
export interface Catalogue {
  resolve (model: string): Resolved | undefined
  provider (id: string): Provider | undefined
}

/** What decides who may answer a request. */
export interface Wish {
  /** The id of the model that was asked for, and those that the client would take instead. */
  model: string
  fallbacks: readonly string[] | null
  /** The most tokens that the prompt can have. */
  promptBound: number
  mayUse (model: string): boolean
}

/** Everything that may be tried for a request, model by model. */
export interface Plan {
  /** The deployments of the model that was asked for; at least one. */
  asked: readonly Candidate[]
  /** Those of each fallback, in the order of trying; looked up only when it comes to that. */
  fallbacks (): Generator<readonly Candidate[]>
}

interface PlanOptions {
  catalogue: Catalogue
  deployments: Deployments
  allowDearer: boolean
}

/**
 * Plans a request: the model asked for, then the fallbacks of the client's choice or, without one, of the
 * operator's. A fallback that the key may not use, that cannot chat or be sold, or that costs more than the
 * model asked for, is left out. Throws GatewayError 404 or 400 when the model itself cannot be used.
 */
export function planFor (wish: Wish, options: PlanOptions): Plan {
  const { catalogue, deployments, allowDearer } = options
  const resolved = catalogue.resolve(wish.model)
  if (resolved === undefined || !wish.mayUse(resolved.model.id)) throw GatewayError.modelNotFound(wish.model)
  if (resolved.model.kind !== 'chat') {
    throw GatewayError.invalidRequest(`The model \`${wish.model}\` makes ${resolved.model.kind}s; it cannot chat.`,
      { param: 'model' })
  }
  const all = candidatesOf(resolved, catalogue, deployments)
  const sellable = all.filter(({ price }) => price !== null)
  // That nothing has a price is told when the money is to be held.
  const asked = sellable.length > 0 ? sellable : all
  if (asked.length === 0) throw GatewayError.modelNotFound(wish.model)
  return {
    asked,
    * fallbacks () {
      const seen = new Set([resolved.model.id])
      for (const id of wish.fallbacks ?? resolved.model.fallbacks ?? []) {
        const found = catalogue.resolve(id)
        if (found === undefined || seen.has(found.model.id)) continue
        seen.add(found.model.id)
        if (found.model.kind !== 'chat' || !wish.mayUse(found.model.id)) continue
        const candidates = candidatesOf(found, catalogue, deployments).filter(({ price }) => {
          return price !== null && (allowDearer || !isDearer(price, pricesOf(asked), wish.promptBound))
        })
        if (candidates.length > 0) yield candidates
      }
    }
  }
}

function candidatesOf (
  { model, deployments }: Resolved, catalogue: Catalogue, known: Deployments
): Candidate[] {
  const candidates: Candidate[] = []
  for (const deployment of deployments) {
    const provider = catalogue.provider(deployment.provider)
    if (provider === undefined || !canChat(provider)) continue
    const price = deployment.price === undefined ? model.price : deployment.price
    candidates.push({ model, deployment, provider, price, known: known.of(deployment) })
  }
  return candidates
}

function pricesOf (candidates: readonly Candidate[]): Price[] {
  return candidates.map(({ price }) => price).filter(price => price !== null)
}

function canChat (provider: Provider): provider is ChatProvider {
  return provider.chat !== undefined
}
