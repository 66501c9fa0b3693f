import { UpstreamError } from '../../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../../shared/json.ts'
import type { UpstreamResponse } from '../../upstream/response.ts'
import { errorFromFields } from '../../error-body.ts'
import { relayNamedEvents, type EventReader } from '../../named-events.ts'
import type { EventStream } from '../../provider.ts'
import { recordUsage, statedName, type StreamReport } from '../../report.ts'
import type { Dialect } from '../dialects.ts'
import { countSearches, isSearch, readResponseUsage, recordOutput } from './usage.ts'

export interface ReadOptions {
  dialect: Pick<Dialect, 'cost' | 'searches'>
  /** Masked in errors. */
  secret: string | null
  /** Whether searches are counted, because each has a price. */
  countsSearches: boolean
}

/** Records what a whole response says. Throws UpstreamError for a failed one. */
export function recordResponse (report: StreamReport, body: JsonObject, options: ReadOptions): void {
  if (body.error) throw errorFromFields(body.error, 200, options.secret)
  if (!Array.isArray(body.output)) {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer is not a response.')
  }
  recordEnding(report, body, options)
  if (report.usage === null) recordOutput(report, body.output)
  if (body.status === 'completed' || body.status === 'incomplete') return
  throw new UpstreamError('bad_reply', 'yes', 'The provider has not completed the response.')
}

/** Relays a response's events as they came, and reads the usage on the way; see `relayNamedEvents`. */
export async function relayResponse (
  response: UpstreamResponse, report: StreamReport, options: ReadOptions
): Promise<EventStream> {
  return await relayNamedEvents(response, createResponseReader(report, options))
}

const beginnings: ReadonlySet<unknown> = new Set(['response.created', 'response.queued', 'response.in_progress'])

/** Reads the events of a response into its report. Source: openai@7.55.0, ResponseStreamEvent. */
export function createResponseReader (report: StreamReport, options: ReadOptions): EventReader {
  const { secret, countsSearches } = options
  let hasBegun = false
  let isDone = false
  let searches = 0

  function end (response: unknown): void {
    isDone = true
    if (!isObject(response)) return
    const counted = recordEnding(report, response, options)
    if (counted !== null && countsSearches) counted.searches = Math.max(counted.searches ?? 0, searches)
  }

  return {
    take (body, { event }) {
      const { type, response, delta, item } = body
      if (type === 'error' || event === 'error') throw errorFromFields(body.error ?? body, 200, secret)
      if (type === 'response.failed' || type === 'response.cancelled') {
        end(response)
        isDone = false
        throw errorFromFields(isObject(response) ? response.error : null, 200, secret)
      }
      if (!beginnings.has(type)) hasBegun = true
      else if (isObject(response)) recordHead(report, response)
      if (isText(delta) && isText(type) && type.endsWith('.delta')) report.delivered.takeText(delta)
      if (type === 'response.output_item.done' && isSearch(item)) searches++
      if (type === 'response.completed' || type === 'response.incomplete') end(response)
    },
    get hasBegun () { return hasBegun },
    get isDone () { return isDone }
  }
}

function recordHead (report: StreamReport, { id, model, service_tier: tier }: JsonObject): void {
  report.id ??= statedName(id)
  report.model = statedName(model) ?? report.model
  if (isText(tier)) report.serviceTier = tier
}

/** Records the head, the end and the usage of a response; returns the usage, null if there is none. */
function recordEnding (report: StreamReport, body: JsonObject, options: ReadOptions): StreamReport['usage'] {
  const { dialect, countsSearches } = options
  recordHead(report, body)
  const reason = isObject(body.incomplete_details) ? statedName(body.incomplete_details.reason) : null
  const status = reason ?? statedName(body.status)
  if (status !== null) report.finishReasons.set(0, status)
  const usage = readResponseUsage(body, dialect)
  if (usage === null) return null
  if (countsSearches) usage.searches = countSearches(body, dialect)
  recordUsage(report, usage, false)
  return usage
}
