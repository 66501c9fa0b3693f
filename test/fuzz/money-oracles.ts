import { serviceTierPriceOf, tokenCostNano, tokenPriceOf } from '../../services/billing/token-price.ts'
import { isObject, type JsonObject } from '../../services/shared/json.ts'
import { nanoFromUsd } from '../../services/shared/money.ts'
import { usageText, type Protocol } from './hostile-provider.ts'
import type { Exchange } from './money-arbitraries.ts'
import { price, tieredPrice, type Answer } from './money-shop.ts'

/** A row of the table `entry`. */
export interface Entry {
  kind: 'usage' | 'suspense'
  ref: string
  amount: number
  estimated: number
  usage: string
  reason: string | null
  api_key: string
}

/** The sum of the entries, of one kind if it is given. */
export function sumOf (entries: readonly Entry[], kind?: Entry['kind']): number {
  const counted = entries.filter(entry => kind === undefined || entry.kind === kind)
  return counted.reduce((total, { amount }) => total + amount, 0)
}

/** The cost of a request in its log line and in its row of the request log; undefined: there is none. */
export interface Logged { lineUsd: unknown, rowNano: number | undefined }

/** Why an answer, the logs and its entries do not fit together; null: they do. */
export function problemOf (answer: Answer, entries: readonly Entry[], logged: Logged): string | null {
  return problemOfTold(answer, entries, logged) ?? problemOfEntries(answer, entries) ??
    problemOfUsage(answer, entries)
}

/** What the client and the operator read is what was booked. */
function problemOfTold (
  { exchange, status, cost, text }: Answer, entries: readonly Entry[], { lineUsd, rowNano = 0 }: Logged
): string | null {
  const charged = sumOf(entries, 'usage')
  if (status === 500 || text.includes('internal_error')) return `answered ${status}: ${text}`
  if (cost !== undefined && nanoFromUsd(cost) !== charged) return `told ${cost}, booked ${charged}`
  const last = status === 200 ? lastUsage(exchange, text) : null
  const isTold = last?.cost === undefined
    ? last === null || (exchange.stream && !isReadable(last))
    : typeof last.cost === 'number' && nanoFromUsd(last.cost) === charged
  if (!isTold) return `told ${JSON.stringify(last)}, booked ${charged}`
  const lineNano = typeof lineUsd === 'number' ? nanoFromUsd(lineUsd) : 0
  return lineNano === charged && rowNano === charged ? null : `logged ${lineUsd} and ${rowNano}, booked ${charged}`
}

/** A request has one charge at most, which costs what its usage does, and the excess is in suspense. */
function problemOfEntries ({ exchange, calls, status }: Answer, entries: readonly Entry[]): string | null {
  const charges = entries.filter(({ kind }) => kind === 'usage')
  const suspended = entries.filter(({ kind }) => kind === 'suspense')
  if (charges.length > 1 || suspended.length > 1) return `booked twice: ${JSON.stringify(entries)}`
  const [charge] = charges
  if (charge === undefined) {
    // Images that were made and not delivered may be charged to the operator.
    const isLost = exchange.model.endsWith('picture') && suspended.every(({ reason }) => reason === 'unverified')
    return suspended.length === 0 || isLost ? null : `only suspense: ${JSON.stringify(entries)}`
  }
  const usage = JSON.parse(charge.usage)
  if (suspended.some(({ reason }) => reason === 'unverified')) {
    const isAllowed = mayBeUnverified({ status, stream: exchange.stream }, charge)
    return isAllowed ? null : `unverified: ${JSON.stringify(entries)}`
  }
  if (sumOf(suspended) !== (usage.excessNano ?? 0)) return `excess of ${usage.excessNano}: ${JSON.stringify(entries)}`
  if (suspended.some(({ reason }) => reason !== 'over_hold')) return `suspended: ${JSON.stringify(entries)}`
  if (charge.estimated === 1) return null
  const possible = possibleNano(exchange, usage, calls)
  return possible.length === 0 || possible.includes(sumOf(entries))
    ? null
    : `${charge.usage} costs ${possible.join(' or ')}, booked ${sumOf(entries)}`
}

/** A whole response that its client did not wait for, and that never came, may have cost what was held. */
export function mayBeUnverified (
  { status, stream }: { status: number | null, stream: boolean }, { estimated }: Entry
): boolean {
  return status === null && !stream && estimated === 1
}

/** What the counts of an entry may cost; empty: they do not say. */
function possibleNano ({ model, fields }: Exchange, usage: Record<string, number>, calls: number): number[] {
  const { prompt, completion, images = 0, searches = 0 } = usage
  if (model === 'picture') {
    return [images * (fields.size === '64x64' && fields.quality === 'high' ? 40_000_000 : 10_000_000)]
  }
  if (prompt === undefined || completion === undefined) return []
  const counts = { ...usage, prompt, completion }
  const standard = tokenPriceOf({ id: model, price })
  const tiers = ['priority', 'flex'].map(tier => serviceTierPriceOf(tieredPrice, tier) ?? standard)
  const searchNano = [0, searches, 3 * calls].map(count => count * tieredPrice.searchNano)
  const mayBeTiered = model === 'tiered' || fields.fallbacks !== undefined
  if (!mayBeTiered) return [tokenCostNano(counts, standard)]
  return [standard, ...tiers].flatMap(rates => searchNano.map(nano =>
    Math.min(tokenCostNano(counts, rates) + nano, Number.MAX_SAFE_INTEGER)))
}

/** What the provider counts is booked, or an estimate that says so; a refused request costs nothing. */
function problemOfUsage (answer: Answer, entries: readonly Entry[]): string | null {
  const { exchange, status, cost, text } = answer
  const { model, leavesAfterMs, stream } = exchange
  const hasStayed = leavesAfterMs === null && status !== null && !text.includes('deadline_exceeded')
  if (!hasStayed) return null
  if (status >= 400) {
    if (entries.some(({ kind }) => kind === 'usage')) return `${status} is charged: ${JSON.stringify(entries)}`
    return status === 502 && isWillingly(exchange) ? `a whole answer became ${status}: ${text}` : null
  }
  const wrong = problemOfToldUsage(answer, entries) ?? problemOfCountsSoFar(answer, entries)
  if (wrong !== null) return wrong
  // On a busy machine even a willing provider may be too slow.
  if (!isWillingly(exchange) || text.includes('upstream_timeout')) return null
  if (!stream && cost === undefined) return 'the cost was not told'
  if (model.endsWith('picture')) return null
  const isEstimated = entries.some(({ estimated }) => estimated === 1)
  // The provider always says `stop`, so the gateway has ended it.
  if (stream && text.includes('"finish_reason":"length"')) {
    return isEstimated ? null : `a stream that was cut is not estimated: ${JSON.stringify(entries)}`
  }
  const expected = reportedNano(answer)
  if (expected === undefined) return null
  if (expected === null) return isEstimated ? null : `an estimate was not flagged: ${JSON.stringify(entries)}`
  return sumOf(entries) === expected ? null : `reported ${expected}, booked ${sumOf(entries)}`
}

/** Whether the provider sends a whole answer that makes sense, apart from its numbers. */
function isWillingly ({ plan: { ending, junk }, stream }: Exchange): boolean {
  return ending === 'whole' && (junk === null || !stream)
}

/** What a stream has counted before it ended is booked, however it ended. */
function problemOfCountsSoFar (answer: Answer, entries: readonly Entry[]): string | null {
  const { exchange: { stream, plan: { isInEveryChunk, junk } }, calls, text } = answer
  const expected = reportedNano(answer)
  if (!stream || !isInEveryChunk || junk !== null || expected == null) return null
  // The client has read a text, so the gateway has read the counts beside it.
  if (!/"(content|text)":"[^"]/.test(text) || sumOf(entries) >= expected / calls) return null
  return `counted ${expected / calls} at least, booked ${sumOf(entries)}`
}

/** The counts that a client reads are those of its entry, unless that is an estimate. */
function problemOfToldUsage ({ exchange, text }: Answer, entries: readonly Entry[]): string | null {
  const [entry] = entries.filter(({ kind }) => kind === 'usage')
  if (entry === undefined || entry.estimated === 1) return null
  const { images, prompt, completion } = JSON.parse(entry.usage)
  if (images !== undefined) {
    const { data } = JSON.parse(text)
    return data.length === images ? null : `sent ${data.length} images, booked ${entry.usage}`
  }
  const told = lastUsage(exchange, text)
  if (told === null) return null
  if (!isReadable(told)) return null
  return told.prompt_tokens === prompt && told.completion_tokens === completion
    ? null
    : `told ${JSON.stringify(told)}, booked ${entry.usage}`
}

/** The last usage in the answer of a text model; null: there is none, or the answer is not whole. */
function lastUsage ({ stream, model }: Exchange, text: string): JsonObject | null {
  if (model.endsWith('picture') || (stream && !text.endsWith('data: [DONE]\n\n'))) return null
  const bodies: unknown[] = stream
    ? text.split('\n\n').filter(event => event.startsWith('data: {')).map(event => JSON.parse(event.slice(6)))
    : [JSON.parse(text)]
  return bodies.flatMap(body => isObject(body) && isObject(body.usage) ? [body.usage] : []).at(-1) ?? null
}

function isReadable ({ prompt_tokens: prompt, completion_tokens: completion }: JsonObject): boolean {
  return isCount(prompt) && isCount(completion)
}

function isCount (value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2 ** 32
}

const protocols: Record<string, Protocol> = { claude: 'anthropic', gemini: 'gemini', router: 'router' }

/** What the provider says that a text costs; null: nothing readable, undefined: it depends on more. */
function reportedNano ({ exchange: { model, plan, fields }, calls }: Answer): number | null | undefined {
  if (model === 'tiered' || fields.fallbacks !== undefined) return undefined
  const text = usageText(plan, protocols[model] ?? 'chat')
  const usage: unknown = text === null ? null : JSON.parse(text)
  if (!isObject(usage)) return null
  if ('text' in plan.usage || plan.usage.other !== null || plan.usage.details !== null) return undefined
  const [prompt, completion] = Object.values(usage)
  if (Object.keys(usage).length !== 2) return undefined
  if (prompt === null || completion === null) return undefined
  if (!isCount(prompt) || !isCount(completion)) return null
  if (prompt === 0) return undefined
  const nano = calls * (prompt * price.inputPico + completion * price.outputPico) / 1000
  return Math.min(Number.MAX_SAFE_INTEGER, nano)
}
