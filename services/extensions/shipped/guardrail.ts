import { request } from 'undici'
import { isObject, isText } from '../../shared/json.ts'
import { definePlugin, type PluginContext } from '../types.ts'

export interface GuardrailOptions {
  /** Receives `{stage, request_id, key, account, kind, body}` by POST, and returns `{action, …}`. */
  url: string
  /** Headers of each request, such as an authorization. */
  headers?: Readonly<Record<string, string>>
  /** `before` the provider is called, `after` it has responded; both by default. */
  stages?: readonly ('before' | 'after')[]
}

type Verdict =
  | { action: 'allow' }
  | { action: 'replace', body: unknown }
  | { action: 'block', message: string, code?: string }

const maxBytes = 8 * 1024 * 1024

/**
 * Lets a server of the operator judge requests and responses: `{"action": "allow"}`, `"block"` with a
 * `message`, or `"replace"` with a `body`. A stream is held back until its end is judged.
 */
export default definePlugin(({ url, headers = {}, stages = ['before', 'after'] }: GuardrailOptions) => {
  if (!isText(url) || !/^https?:$/.test(URL.parse(url)?.protocol ?? '')) throw new TypeError('needs the option url')

  async function judge (stage: 'before' | 'after', subject: object, context: PluginContext): Promise<Verdict> {
    const { requestId, key, account, signal } = context
    const response = await request(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ stage, request_id: requestId, key, account, ...subject }),
      signal
    })
    if (response.statusCode !== 200) {
      await response.body.dump()
      throw new Error(`The guardrail responded with status ${response.statusCode}.`)
    }
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new Error(`The guardrail responded with more than ${maxBytes} bytes.`)
      chunks.push(chunk)
    }
    return verdictOf(JSON.parse(Buffer.concat(chunks).toString()))
  }

  /** The body to go on with; ends the request if the guardrail blocks it. */
  async function pass<Body> (
    stage: 'before' | 'after', subject: { kind: string, body: Body }, context: PluginContext
  ): Promise<Body> {
    const verdict = await judge(stage, subject, context)
    if (verdict.action === 'block') context.reject(400, verdict.message, verdict.code ?? 'guardrail_blocked')
    // The gateway validates what a hook returns.
    return verdict.action === 'replace' ? verdict.body as Body : subject.body
  }

  return {
    name: 'tollgate/guardrail',
    ...stages.includes('before') && {
      request: async (call, context) => call.kind === 'image'
        ? { kind: 'image', body: await pass('before', call, context) }
        : { kind: call.kind, body: await pass('before', call, context) }
    },
    ...stages.includes('after') && {
      response: async (completion, context) => await pass('after', { kind: 'chat', body: completion }, context)
    }
  }
})

function verdictOf (verdict: unknown): Verdict {
  if (isObject(verdict)) {
    const { action, body, message, code } = verdict
    if (action === 'allow') return { action }
    if (action === 'replace') return { action, body }
    if (action === 'block') {
      const said = isText(message) ? message : 'The request was blocked by a guardrail.'
      return { action, message: said, ...isText(code) && { code } }
    }
  }
  throw new Error('The guardrail responded without an action.')
}
