import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startMetered, type MeteredGateway } from './metered-gateway.ts'
import { keepOpen } from '../helpers/keep-open.ts'

/** A body as a provider sends it, whatever was asked for. */
export interface OddAnswer { type: 'application/json' | 'text/event-stream', body: string }

/** The chat models of the provider, one for each protocol; it has the image model `odd-image` too. */
export const oddModels = ['odd-chat', 'odd-claude', 'odd-gemini']

/** Starts a metered gateway whose only provider returns the body that the test has set. */
export async function startBeforeOddProvider (
  t: Test
): Promise<{ gateway: MeteredGateway, answerWith (answer: OddAnswer): void }> {
  let current: OddAnswer = { type: 'application/json', body: '{}' }
  const provider = createServer(keepOpen, (request, response) => {
    request.resume().once('end', () => { response.writeHead(200, { 'content-type': current.type }).end(current.body) })
  })
  await once(provider.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    provider.closeAllConnections()
    provider.close()
  })
  const base = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const protocols = ['openai', 'anthropic', 'gemini']
  const limits = 'price: { input: 1, output: 2 }, context_window: 20000000, max_output: 200000'
  const config = join(t.testdir(), 'gateway.yaml')
  await writeFile(config, `environment_providers: false
providers:
${protocols.map(protocol => `  - { id: ${protocol}, protocol: ${protocol}, base_url: "${base}/v1", api_key: secret-of-the-provider }`).join('\n')}
models:
${oddModels.map((id, at) => `  - { id: ${id}, provider: ${protocols[at]}, model: up, ${limits}, capabilities: { tools: true } }`).join('\n')}
  - { id: odd-image, provider: openai, kind: image, model: up-image, price: { image: 0.01 }, images: { sizes: [1024x1024] } }
requests: { retries: 0 }
breaker: { failures: 1000, error_rate: 1, min_requests: 1000000 }
`)
  const env = { TOLLGATE_CONFIG: config, TOLLGATE_DISCOVER: 'off', TOLLGATE_STARTING_CREDIT: '1000000' }
  const gateway = await startMetered(t, { env, heapMb: 1024 })
  return { gateway, answerWith: answer => { current = answer } }
}

interface Exchange { path: string, body: string }

/** Other work of the machine lengthens a turn now and then, the request's own work does so each time. */
const tries = 3

/**
 * Sends a request until no turn of the event loop takes longer than `limitMs`, three times at most. Resolves
 * to the status and the longest turn in ms of each.
 */
export async function measureTurns (
  gateway: MeteredGateway, { path, body }: Exchange, limitMs: number
): Promise<{ statuses: number[], longestMs: number[] }> {
  const statuses: number[] = []
  const longestMs: number[] = []
  while (longestMs.length < tries && !longestMs.some(ms => ms <= limitMs)) {
    // What others have left behind is collected before.
    await gateway.read(true)
    await gateway.read()
    const response = await gateway.send(path, body)
    await response.text()
    statuses.push(response.status)
    longestMs.push((await gateway.read()).longestMs)
  }
  return { statuses, longestMs }
}
