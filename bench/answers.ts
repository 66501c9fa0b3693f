/** Headers of OpenAI's answers; with `date`, `connection` and the framing there are 24. */
export const headers = [
  'access-control-expose-headers', 'X-Request-ID',
  'openai-organization', 'tollgate-bench',
  'openai-processing-ms', '2524',
  'openai-project', 'proj_KYenqYOfeZsnXEVK8dXVBhez',
  'openai-version', '2020-10-01',
  'x-envoy-upstream-service-time', '2601',
  'x-ratelimit-limit-requests', '500',
  'x-ratelimit-limit-tokens', '200000',
  'x-ratelimit-remaining-requests', '499',
  'x-ratelimit-remaining-tokens', '199996',
  'x-ratelimit-reset-requests', '120ms',
  'x-ratelimit-reset-tokens', '1ms',
  'x-request-id', 'req_ff7b0a8af7a14d1bbe00df50025271ca',
  'cf-cache-status', 'DYNAMIC',
  'set-cookie', '__cf_bm=upstream-cookie; path=/; HttpOnly; Secure; SameSite=None',
  'strict-transport-security', 'max-age=31536000; includeSubDomains; preload',
  'x-content-type-options', 'nosniff',
  'server', 'cloudflare',
  'cf-ray', '96ec92b78fe0e4fe-JHB',
  'alt-svc', 'h3=":443"; ma=86400'
]

const identity = { id: 'chatcmpl-C4Gm9xikLXbgE8He0BHWeoM03aa72', created: 1755133833, model: 'bench' }
const usage = {
  prompt_tokens: 200,
  completion_tokens: 100,
  total_tokens: 300,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0
  }
}
const content = 'Ask for the price before you pay it. '.repeat(10)

/** A chat completion of about 1 KB. */
export const completion = Buffer.from(JSON.stringify({
  ...identity,
  object: 'chat.completion',
  choices: [{
    index: 0,
    message: { role: 'assistant', content, refusal: null, annotations: [] },
    finish_reason: 'stop'
  }],
  usage,
  service_tier: 'default',
  system_fingerprint: null
}))

export const chunksPerStream = 100

/** The writes of one stream; the last one includes the finish reason, the usage and `[DONE]`. */
export const chunks: readonly Buffer[] = Array.from({ length: chunksPerStream }, (_, index) => {
  const isLast = index === chunksPerStream - 1
  const delta = index === 0 ? { role: 'assistant', content: '', refusal: null } : { content: ' word' }
  const text = event({ choices: [{ index: 0, delta, finish_reason: null }], usage: null })
  return Buffer.from(isLast ? text + ending() : text)
})

function ending (): string {
  const finish = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null })
  return `${finish}${event({ choices: [], usage })}data: [DONE]\n\n`
}

function event (fields: object): string {
  const chunk = {
    ...identity, object: 'chat.completion.chunk', service_tier: 'default', system_fingerprint: null, ...fields
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}
