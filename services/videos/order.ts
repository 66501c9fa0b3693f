import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import { priceOf } from '../billing/video-price.ts'
import { bodyHashOf } from '../requests/joins/joinable.ts'
import type { Models } from '../models/models.ts'
import { planFor, type Candidate, type Catalogue } from '../requests/candidates.ts'
import type { Incoming } from '../requests/incoming.ts'
import type { RetryOptions } from '../requests/request-headers.ts'
import { setCandidate } from '../requests/trace.ts'
import { GatewayError } from '../shared/errors.ts'
import { checkWebhookUrl, noJobForWebhook } from './webhooks/check-url.ts'
import { makeChoices } from './choices.ts'
import type { VideoOrder } from './find-job.ts'
import type { JobCandidate } from './job.ts'
import { readWish } from './request.ts'

export interface VideoIncoming
  extends Pick<Incoming<ChatCompletionRequest>, 'request' | 'payer' | 'mayUse' | 'trace' | 'delivery' | 'signal'>, RetryOptions {
  /** Where the client reaches the API, e.g. `https://gateway.example.com/v1`. */
  baseUrl: string
}

interface OrderContext {
  /** Servers of webhooks that may be private or plain HTTP. */
  webhookOrigins: readonly string[]

  models: Pick<Models, 'resolveVideos'>
  catalogue: Catalogue
}

/** Checks and prices a request for a video. Throws GatewayError 400 or 404. */
export function toOrder (
  { models, catalogue, webhookOrigins }: OrderContext, incoming: VideoIncoming, isBackground: boolean
): VideoOrder {
  const { webhook_url: webhook } = incoming.request
  const { request, payer, mayUse, idempotencyKey, retryCount, baseUrl, trace, signal } = incoming
  trace.asked = request.model
  if (webhook !== undefined && !isBackground) throw noJobForWebhook()
  const resolved = models.resolveVideos(request.model).find(({ model }) => mayUse(model.id))
  if (resolved === undefined) throw GatewayError.modelNotFound(request.model)
  const { model, asked } = planFor({ kind: 'video', model: resolved.model.id, fallbacks: [], mayUse }, catalogue)
  const { task, able } = makeChoices(readWish(request, model), model, asked)
  setCandidate(trace, able[0])
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
