import { KindGuard, type TSchema } from '@sinclair/typebox'
import * as openaiBilling from './openai/billing.ts'
import * as openaiChatCompletions from './openai/chat-completions.ts'
import * as openaiChatMessages from './openai/chat-messages.ts'
import * as openaiChatTools from './openai/chat-tools.ts'
import * as openaiCompletions from './openai/completions.ts'
import * as openaiError from './openai/error.ts'
import * as openaiImagesGenerations from './openai/images-generations.ts'
import * as openaiModels from './openai/models.ts'
import * as openaiResponseItems from './openai/response-items.ts'
import * as openaiResponseTools from './openai/response-tools.ts'
import * as openaiResponses from './openai/responses.ts'
import * as openaiRouting from './openai/routing.ts'
import * as openaiSampling from './openai/sampling.ts'
import * as openaiUsage from './openai/usage.ts'
import * as openaiVideos from './openai/videos.ts'
import * as openaiWebhooks from './openai/webhooks.ts'
import * as anthropicError from './anthropic/error.ts'
import * as anthropicMessageBlocks from './anthropic/message-blocks.ts'
import * as anthropicMessages from './anthropic/messages.ts'
import * as anthropicModels from './anthropic/models.ts'
import * as adminAccounts from './admin/accounts.ts'
import * as adminAlerts from './admin/alerts.ts'
import * as adminAudit from './admin/audit.ts'
import * as adminBooks from './admin/books.ts'
import * as adminEntries from './admin/entries.ts'
import * as adminHolds from './admin/holds.ts'
import * as adminJobs from './admin/jobs.ts'
import * as adminKeys from './admin/keys.ts'
import * as adminLedger from './admin/ledger.ts'
import * as adminMedia from './admin/media.ts'
import * as adminProviders from './admin/providers.ts'
import * as adminRequests from './admin/requests.ts'
import * as adminSession from './admin/session.ts'
import * as adminShared from './admin/shared.ts'
import * as adminSuspense from './admin/suspense.ts'
import * as adminUsage from './admin/usage.ts'
import * as sharedFront from './shared/front.ts'
import * as sharedHealth from './shared/health.ts'

const modules = [
  openaiBilling, openaiChatCompletions, openaiChatMessages, openaiChatTools, openaiCompletions,
  openaiError, openaiImagesGenerations, openaiModels, openaiResponseItems, openaiResponseTools,
  openaiResponses, openaiRouting, openaiSampling, openaiUsage, openaiVideos, openaiWebhooks, anthropicError,
  anthropicMessageBlocks, anthropicMessages, anthropicModels, adminAccounts, adminAlerts, adminAudit,
  adminBooks, adminEntries, adminHolds, adminJobs, adminKeys, adminLedger, adminMedia, adminProviders,
  adminRequests, adminShared, adminSession, adminSuspense, adminUsage,
  sharedFront, sharedHealth
]

/**
 * The names of the objects that `schemas/` exports, by their JSON: the components of the OpenAPI document.
 * Of equal schemas, the first gives the name.
 */
export function schemaNames (): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const [name, schema] of modules.flatMap(module => Object.entries<unknown>(module))) {
    if (!KindGuard.IsSchema(schema) || !isObject(schema)) continue
    const text = JSON.stringify(schema)
    if (!names.has(text)) names.set(text, name)
  }
  return names
}

function isObject (schema: TSchema): boolean {
  return 'properties' in schema || 'then' in schema
}
