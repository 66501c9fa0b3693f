import type { ChatCompletionRequest } from '../schemas/openai/chat-completions.ts'
import { defaultCreated, deploymentDefaults } from '../schemas/config/models.ts'
import type { ModelConfig } from '../services/config/catalogue/types.ts'
import { createRouter, type Router } from '../services/routing/router.ts'
import type { Measurement } from './measure.ts'
import { quantileOf, spreadOf } from './statistics.ts'
import { fixedCatalogue } from '../test/services/routing/fixed-catalogue.ts'
import type { RoutingRequest } from '../services/routing/types.ts'
import { assumedCapabilities } from '../services/config/catalogue/models.ts'

const promptCount = 1000
const tries = 5
const modelCount = 150
const maxChars = 8192
/** µs at the median and at the 99th percentile. */
const targets = { median: 150, p99: 1000 }

/**
 * Measures routing decisions, in µs, against one on a prompt of 40 characters: prompts of up to 8 KB, then
 * one of 64 KB and one of 1 MB, which show that the time is linear in the length. The fastest of several
 * tries counts, which removes the interruptions of a shared machine.
 */
export function measureRouting (rounds: number): Measurement[] {
  const router = createBenchRouter()
  const short = requestsOf(() => 40)
  const upTo8KB = requestsOf(index => 40 + index * 7919 % promptCount / promptCount * maxChars)
  for (let warmUp = 0; warmUp < 3; warmUp++) fastest(router, upTo8KB, 1)
  const row = (
    title: string, share: number, requests: readonly RoutingRequest[], maxUs?: number
  ): Measurement => {
    const each = Array.from({ length: rounds }, () => ({
      bare: quantileOf(fastest(router, short, tries), share),
      subject: quantileOf(fastest(router, requests, tries), share)
    }))
    return {
      title: `routing decision, ${title}`,
      unit: 'µs',
      bare: spreadOf(each.map(({ bare }) => bare)),
      subject: spreadOf(each.map(({ subject }) => subject)),
      ratio: null,
      targetRatio: null,
      maxUs
    }
  }
  const oneOf = (kilobytes: number) => [requestOf(prompt(kilobytes * 1024, 7))]
  return [
    row(`prompts ≤ 8 KB, ${modelCount} models: median`, 0.5, upTo8KB, targets.median),
    row('prompts ≤ 8 KB: 99th percentile', 0.99, upTo8KB, targets.p99),
    row('64 KB prompt', 0.5, oneOf(64)),
    row('1 MB prompt', 0.5, oneOf(1024))
  ]
}

/** The shortest time of each decision, in µs. */
function fastest (router: Router, requests: readonly RoutingRequest[], tries: number): number[] {
  return requests.map(request => {
    let leastUs = Infinity
    for (let attempt = 0; attempt < tries; attempt++) {
      const startedMs = performance.now()
      router.decide(request)
      leastUs = Math.min(leastUs, (performance.now() - startedMs) * 1000)
    }
    return leastUs
  })
}

function requestsOf (charsOf: (index: number) => number): RoutingRequest[] {
  return Array.from({ length: promptCount }, (_, index) => requestOf(prompt(charsOf(index), index)))
}

function requestOf (text: string): RoutingRequest {
  const request: ChatCompletionRequest = {
    model: 'auto',
    messages: [
      { role: 'system', content: 'You are a helpful assistant. Answer briefly.' },
      { role: 'user', content: text }
    ]
  }
  return {
    request, key: 'bench', mayUse: () => true, conversation: null, candidates: null, availableNano: null
  }
}

const words = ('the of and a to in is you that it he was for on are as with his they at be this from I have or by one ' +
  'had not but what all were when we there can an your which their said if do will each about how up out them then ' +
  'function return list integer matrix probability velocity contract treaty enzyme summarize translate explain 17 3.5 ' +
  '(x) = { } price revenue history therefore compute largest').split(' ')

/** Pseudo-random text of `chars` characters. */
function prompt (chars: number, seed: number): string {
  let text = ''
  for (let at = seed; text.length < chars; at = Math.imul(at, 48271) + 11 & 0x7fffffff) {
    text += `${words[at % words.length]}${at % 13 === 0 ? at : ''}${at % 17 === 0 ? '.\n' : ' '}`
  }
  return text.slice(0, chars)
}

function createBenchRouter (): Router {
  const models = Array.from({ length: modelCount }, (_, index) => benchModel(index))
  const speed = { firstTokenMs: 500, tokensPerSecond: 80 }
  return createRouter({
    catalogue: fixedCatalogue(models),
    deployments: { isAvailable: () => true, expected: () => speed }
  })
}

function benchModel (index: number): ModelConfig {
  const id = `model-${index}`
  return {
    id,
    kind: 'chat',
    deployments: [{ provider: 'bench', model: id, ...deploymentDefaults }],
    price: {
      inputPico: 100_000 * (index + 1),
      outputPico: 400_000 * (index + 1),
      cacheReadPico: null,
      cacheWritePico: null,
      imageNano: null,
      secondNano: null
    },
    contextWindow: 1_000_000,
    maxOutput: 16_384,
    capabilities: assumedCapabilities,
    quality: {},
    ownedBy: 'bench',
    created: defaultCreated
  }
}
