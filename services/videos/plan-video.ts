import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { Payer } from '../billing/payer.ts'
import { priceOf, type VideoPrice } from '../billing/video-price.ts'
import type { JobTask } from '../providers/provider-video.ts'
import { bodyHashOf, type RequestIdentity } from '../requests/joins/joinable.ts'
import type { Models } from '../models/models.ts'
import { planFor, type Candidate, type Catalogue } from '../requests/candidates.ts'
import type { Exchange } from '../requests/exchange.ts'
import { isOnLists } from '../shared/regions.ts'
import type { RetryOptions } from '../requests/request-headers.ts'
import { setCandidate } from '../requests/request-record.ts'
import { checkWebhookUrl, noJobForWebhook } from './webhooks/check-url.ts'
import { makeChoices } from './make-choices.ts'
import type { JobCandidate } from './job.ts'
import { readVideoOrder } from './read-request.ts'

export interface VideoExchange
  extends Pick<
    Exchange<ChatCompletionRequest>,
    'body' | 'payer' | 'mayUse' | 'regions' | 'record' | 'delivery' | 'signal' | 'hooks'
  >, RetryOptions {
  /** Where the client reaches the API, e.g. `https://gateway.example.com/v1`. */
  baseUrl: string
}

/** A checked and priced request for a video. */
export interface VideoPlan {
  payer: Payer
  model: string
  candidates: readonly JobCandidate[]
  task: JobTask
  price: VideoPrice
  /** How long the provider may take. */
  deadlineMs: number
  identity: RequestIdentity
  baseUrl: string
  /** Aborted when the client disconnects. */
  signal: AbortSignal
  /** The client gets the id of its job at once, and does not wait. */
  isBackground: boolean
  /** Receives how the job ends; null without a webhook. */
  webhookUrl: string | null
}

interface PlanContext {
  /** Servers of webhooks that may be private or plain HTTP. */
  webhookOrigins: readonly string[]
  models: Pick<Models, 'resolveVideos' | 'regionsOf'>
  catalogue: Catalogue
}

/** Checks and prices a request for a video. Throws GatewayError 400 or 404. */
export function planVideo (
  { models, catalogue, webhookOrigins }: PlanContext, exchange: VideoExchange, isBackground: boolean
): VideoPlan {
  const { webhook_url: webhook } = exchange.body
  const { body, payer, mayUse, idempotencyKey, retryCount, baseUrl, record, signal } = exchange
  record.requestedModel = body.model
  if (webhook !== undefined && !isBackground) throw noJobForWebhook()
  const regions = [exchange.regions, models.regionsOf(body.model)]
  const usable = models.resolveVideos(body.model).filter(({ model }) => mayUse(model.id))
  const inRegion = usable.find(({ deployments }) =>
    deployments.some(({ provider }) => isOnLists(catalogue.provider(provider)?.region ?? null, regions)))
  const id = (inRegion ?? usable[0])?.model.id ?? body.model
  const { model, requested } = planFor({ kind: 'video', model: id, fallbacks: [], mayUse, regions }, catalogue)
  const { task, able } = makeChoices(readVideoOrder(body, model), model, requested)
  setCandidate(record, able[0])
  return {
    payer,
    model: model.id,
    candidates: able.map(toJobCandidate),
    task,
    price: priceOf(model, task),
    deadlineMs: Math.max(...able.map(({ provider }) => provider.videos.polling.deadlineMs)),
    identity: { key: idempotencyKey, retryCount, bodyHash: bodyHashOf(model.id, task) },
    baseUrl,
    signal,
    isBackground,
    webhookUrl: webhook === undefined ? null : checkWebhookUrl(webhook, webhookOrigins)
  }
}

function toJobCandidate ({ deployment: { provider, model }, cost }: Candidate): JobCandidate {
  return { provider, model, ...(cost?.secondNano != null && { costNano: cost.secondNano }) }
}
