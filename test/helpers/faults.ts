import { request } from 'undici'
import { breakerDefaults, requestsDefaults } from '../../services/config/defaults.ts'
import type { GatewayConfig } from '../../services/config/catalogue/types.ts'
import type { Random } from '../services/billing/ledger/random.ts'
import { configFor, providerAt, type Gateway } from './gateway.ts'
import { document, refusal, reply, retryAfter, scripts } from '../servers/upstream.ts'
import type { Script, Upstream } from '../servers/upstream.ts'
import { generous } from './timeouts.ts'
import { emptyPrice } from '../../services/config/catalogue/models.ts'

/** Every failure of a provider that does not depend on the request. */
const faults: readonly Script[] = [
  ...[401, 402, 403, 404, 408, 429, 500, 502, 503, 504, 529].map(status => refusal(status)),
  refusal(429, {}, retryAfter.ms(20)),
  refusal(503, {}, retryAfter.ms(20)),
  refusal(429, { code: 'insufficient_quota' }),
  scripts.html(502),
  scripts.empty(503),
  scripts.empty(200),
  scripts.redirected('http://127.0.0.1:9/'),
  scripts.errorIn200(),
  scripts.malformedJson(),
  scripts.truncatedJson(),
  document('{"choices": null}'),
  scripts.resetBeforeHeaders(),
  scripts.resetAfterHeaders(),
  scripts.resetAfter(1),
  scripts.halfClosedAfter(1),
  scripts.silent(),
  scripts.stalledAfter(1)
]

/** Share of the calls that fail. */
const faultRate = 0.3

/** Makes the upstream fail at random; with `endless`, one failure in two hundred never ends. */
export function failAtRandom (upstream: Upstream, random: Random, endless = false): void {
  const fine = reply()
  const ways = [...faults, ...faults, ...faults, ...faults, ...faults, ...faults, ...faults]
  if (endless) ways.push(scripts.endless())
  upstream.always(exchange => {
    const script = random.next() < faultRate ? random.pick(ways) ?? fine : fine
    return script(exchange)
  })
}

export const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 4_000_000 }
/** The cost of an answer: the upstream reports 8 prompt tokens and 377 completion tokens. */
export const answerNano = 8 * 1000 + 377 * 4000

/** One model with a deployment at each of the addresses, all of the same weight. */
export function deployedAt (urls: readonly string[], more: Partial<GatewayConfig> = {}): GatewayConfig {
  const timeouts = { ...generous, firstByteMs: 1_500, idleMs: 1_500, totalMs: 1_500 }
  const providers = urls.map((url, index) => providerAt(url, { id: `up-${index}`, timeouts }))
  const [first = providerAt('')] = providers
  const deployments = providers.map(({ id }) => ({ provider: id, model: 'gpt-5-nano', weight: 1, priority: 0 }))
  return {
    ...configFor(first, { deployments, price, maxOutput: 1000 }),
    providers,
    requests: { ...requestsDefaults, backoffMs: 10 },
    breaker: breakerDefaults,
    ...more
  }
}

export interface Sent { id: string, status: number, attempts: number, totalMs: number }

/** Sends `count` requests, `concurrency` at a time, and returns the outcomes. */
export async function sendMany (
  { url, headers }: Pick<Gateway, 'url' | 'headers'>, count: number, concurrency: number, more: Record<string, string> = {}
): Promise<Sent[]> {
  const sent: Sent[] = []
  let next = 0
  const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello, world!' }] })
  async function sendInTurn (): Promise<void> {
    while (next++ < count) {
      const startedMs = performance.now()
      const answer = await request(`${url}/chat/completions`, { method: 'POST', headers: { ...headers, ...more }, body })
      await answer.body.dump()
      sent.push({
        id: String(answer.headers['x-request-id']),
        status: answer.statusCode,
        attempts: Number(answer.headers['x-tollgate-attempts']),
        totalMs: performance.now() - startedMs
      })
    }
  }
  await Promise.all(Array.from({ length: concurrency }, sendInTurn))
  return sent
}
