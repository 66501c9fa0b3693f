import type { ModelKind } from '../../config/catalogue/kinds.ts'
import { isObject } from '../../shared/json.ts'
import { createMessagesApi } from '../anthropic/anthropic.ts'
import { toCompletion } from '../anthropic/completion.ts'
import { countedBody } from '../anthropic/native-body.ts'
import { unmetByClaude } from '../anthropic/request.ts'
import { recordChoices } from '../generated-text.ts'
import type { ChatApi, ChatCall, ChatResponse, Upstream } from '../provider.ts'
import { createReport, recordUsage, statedName } from '../report.ts'
import { readObject } from '../upstream/read-response.ts'
import { awaitedBy } from '../upstream/response.ts'
import { urlPart } from '../url-part.ts'
import { countOfPrompt, readUsage } from '../usage.ts'
import { asEventStream, atBedrock } from './claude.ts'
import { bedrockConnection } from './connection.ts'
import { toConverseRequest, unmetByConverse } from './converse-request.ts'
import { fromConverse } from './converse-response.ts'
import { readConverseStream } from './converse-stream.ts'
import type { BedrockOptions } from './credentials.ts'
import { withInlineMedia } from './inline-media.ts'
import { claudeIds, foundationModel, isClaude } from './model-names.ts'
import { listModels } from './models.ts'

const framesType = 'application/vnd.amazon.eventstream'

/**
 * Chat over Amazon Bedrock: Claude in Anthropic's form (InvokeModel), all other models in Converse, and
 * Claude too where a guardrail is configured, whose stops only Converse names. One long function, because its
 * methods share the connection and the headers.
 */
export function createBedrockChat (upstream: Upstream, options: BedrockOptions): ChatApi {
  const { apiKey: secret, download, connect } = upstream
  const { aws, identity } = options
  const arns = aws?.arns ?? null
  const headers = { 'content-type': 'application/json', ...upstream.headers }
  const connection = bedrockConnection(upstream.connection, { secret, identity })
  const guardrail = aws?.guardrail == null ? null : { id: aws.guardrail, version: aws.guardrailVersion ?? 'DRAFT' }
  let kinds: ReadonlyMap<string, ModelKind> = new Map()

  /** Claude's own API for one id. */
  function claude (id: string) {
    const unframed: Upstream = {
      ...upstream,
      // The key is a bearer token, which each request gets anyway.
      apiKey: null,
      connection: {
        async send (request) {
          const response = await connection.send(request)
          return response.headers['content-type'] === framesType ? asEventStream(response, secret) : response
        },
        close: () => connection.close()
      }
    }
    return createMessagesApi(unframed, atBedrock(id, guardrailHeaders(guardrail)))
  }

  async function converse (call: ChatCall, name: string): Promise<ChatResponse> {
    const { body, dropped } = toConverseRequest({ ...call, name })
    const isStream = call.body.stream === true
    const response = await connection.send({
      method: 'POST',
      path: `/model/${urlPart(call.model)}/converse${isStream ? '-stream' : ''}`,
      headers,
      body: Buffer.from(JSON.stringify({ ...body, ...guardrailConfig(guardrail) })),
      signal: call.signal,
      awaits: awaitedBy(call.body)
    })
    const report = createReport(dropped)
    const head = { id: String(response.headers['x-amzn-requestid'] ?? call.requestId), model: name }
    if (isStream) {
      return { kind: 'chunks', chunks: readConverseStream(response, report, { head, secret }), report }
    }
    const completion = toCompletion(fromConverse(await readObject(response), head), secret)
    report.model = statedName(name)
    const usage = readUsage(completion)
    if (usage === null) recordChoices(report, completion.choices)
    else recordUsage(report, usage, false)
    return { kind: 'json', body: completion, text: null, report }
  }

  return {
    async chat (call) {
      const name = foundationModel(call.model, arns)
      const body = await withInlineMedia(call.body, { download, signal: call.signal })
      if (!isClaude(name) || guardrail !== null) return await converse({ ...call, body }, name)
      return await claude(call.model).chat({ ...call, body, model: name })
    },
    messages: call => claude(call.model).messages({ ...call, model: foundationModel(call.model, arns) }),
    messageModels: claudeIds(arns),
    async countMessageTokens ({ original, model, signal }) {
      const { members } = atBedrock(model, {})({ model, does: 'count', headers: {} })
      const isLimited = isObject(original.value) && original.value.max_tokens !== undefined
      const body = Buffer.from(countedBody(original, { ...members, ...(isLimited ? {} : { max_tokens: 1 }) })).toString('base64')
      const response = await connection.send({
        method: 'POST',
        path: `/model/${urlPart(model)}/count-tokens`,
        headers,
        body: Buffer.from(JSON.stringify({ input: { invokeModel: { body } } })),
        signal
      })
      return countOfPrompt((await readObject(response)).inputTokens)
    },
    statedOf (model) {
      const kind = kinds.get(model)
      return kind === undefined ? undefined : { kind }
    },
    async models (signal) {
      const control = bedrockConnection(connect(controlUrl(upstream.baseUrl)), { secret, identity })
      kinds = await listModels(control, headers, signal)
      return [...kinds.keys()]
    },
    unmet (request, model) {
      const name = foundationModel(model, arns)
      return isClaude(name) ? unmetByClaude(request, name) : unmetByConverse(request, name)
    }
  }
}

interface Guardrail { id: string, version: string }

function guardrailConfig (guardrail: Guardrail | null): object {
  if (guardrail === null) return {}
  return { guardrailConfig: { guardrailIdentifier: guardrail.id, guardrailVersion: guardrail.version } }
}

function guardrailHeaders (guardrail: Guardrail | null): Record<string, string> {
  if (guardrail === null) return {}
  return {
    'x-amzn-bedrock-guardrailidentifier': guardrail.id, 'x-amzn-bedrock-guardrailversion': guardrail.version
  }
}

/** The server that lists models, beside the one that runs them. */
function controlUrl (baseUrl: string): string {
  return baseUrl.replace('://bedrock-runtime', '://bedrock')
}
