import type { ChatQuote } from '../billing/chat-quote.ts'
import { leastPromptTokens } from '../billing/least-prompt.ts'
import { choicesOf } from '../billing/max-cost.ts'
import type { PromptSize } from '../billing/prompt-size.ts'
import type { StreamReport } from '../providers/report.ts'
import { tokenLimitsOf, type Candidate, type Plan } from '../requests/candidates.ts'
import { GatewayError } from '../shared/errors.ts'
import { extraFields } from '../shared/request-fields.ts'
import type { AnyRequest } from './client-api.ts'
import { keepOnly } from './narrow-plan.ts'

/** Fields by which servers leave out parts of a long prompt, folded: vLLM, OpenRouter, Together. */
const shorteningNames: ReadonlySet<string> =
  new Set(['truncateprompttokens', 'transforms', 'plugins', 'contextlengthexceededbehavior'])

/**
 * A plan without the candidates whose context window the prompt surely exceeds. Throws GatewayError 400 when
 * none of those asked for is left.
 */
export async function onlyFitting<C extends Candidate> (
  plan: Plan<C>, request: AnyRequest, { bounded }: Pick<PromptSize, 'bounded'>
): Promise<Plan<C>> {
  const windowOf = (candidate: C): number => tokenLimitsOf(candidate).contextWindow ?? Infinity
  // Nearly every prompt fits whatever its tokens are, so that none have to be counted.
  if (plan.requested.every(candidate => bounded <= windowOf(candidate))) return plan
  if (extraFields(request).some(({ name }) => shorteningNames.has(name))) return plan
  const least = await leastPromptTokens(request)
  const kept = keepOnly(plan, candidate => least <= windowOf(candidate))
  if (kept.requested.length === 0) throw tooLong(request, Math.max(...plan.requested.map(windowOf)), least)
  return kept
}

/** 400 in OpenAI's words, by which clients know that they have to shorten a conversation. */
function tooLong (request: AnyRequest, window: number, least: number): GatewayError {
  const param = 'messages' in request ? 'messages' : 'prompt'
  const message = `This model's maximum context length is ${window} tokens. However, your ${param} resulted in ` +
    `at least ${least} tokens. Please reduce the length of the ${param}.`
  return GatewayError.invalidRequest(message, { param, code: 'context_length_exceeded' })
}

/** How much longer than allowed an answer may be, as servers count a few tokens more. */
const tolerance = { share: 1 / 16, tokens: 4 }

/**
 * Notes that a deployment has counted a longer prompt than its context window, or a longer answer than was
 * held for. From then on, neither limit is relied on: holds cover what nothing bounds.
 */
export function noteExcess (
  candidate: Candidate, request: AnyRequest, { held }: Pick<ChatQuote, 'held'>, report: StreamReport
): void {
  if (held === null) return
  const { contextWindow } = tokenLimitsOf(candidate)
  const { exceeded } = candidate.health
  const most = held.tokens * (1 + tolerance.share) + tolerance.tokens
  for (const call of report.calls ?? [{ request, report }]) {
    const { usage } = call.report
    if (usage === null) continue
    const times = choicesOf(call.request)
    // After a search, the model reads the whole prompt again with what was found.
    const isReadOnce = usage.searches === undefined
    if (isReadOnce && usage.prompt > (contextWindow ?? Infinity) * times) exceeded.window = true
    if (usage.completion > most * times) exceeded.output = true
  }
}
