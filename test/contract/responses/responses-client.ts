import OpenAI from 'openai'
import type { Gateway } from '../../helpers/gateway.ts'
import { runTool, statusOf } from '../round-trips.ts'
import type { RoundTrip } from '../round-trips.ts'
import { orderProblems } from './event-order.ts'

type Response = OpenAI.Responses.Response
type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming

/** The same tasks through `responses.create`, `stream` and `parse` of OpenAI's SDK. */
export function openAIResponses ({ url, key }: Pick<Gateway, 'url' | 'key'>): RoundTrip {
  const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 })
  return {
    async ask ({ model, prompt, image, tools = [], effort, stream }) {
      const images = image === undefined
        ? []
        : [{ type: 'input_image' as const, image_url: image, detail: 'auto' as const }]
      const input: OpenAI.Responses.ResponseInput = [
        { role: 'user', content: [{ type: 'input_text', text: prompt }, ...images] }
      ]
      for (;;) {
        const body: Body = {
          model,
          input,
          store: false,
          include: ['reasoning.encrypted_content'],
          ...(effort === undefined ? {} : { reasoning: { effort } }),
          ...(tools.length === 0
            ? {}
            : { tools: tools.map(({ name, schema }) => ({ type: 'function', name, parameters: { ...schema }, strict: false })) })
        }
        const response = stream ? await gatherResponse(client, body) : await client.responses.create(body)
        input.push(...response.output.filter(isChat))
        const calls = response.output.filter(item => item.type === 'function_call')
        for (const { call_id: id, name, arguments: text } of calls) {
          input.push({ type: 'function_call_output', call_id: id, output: runTool(tools, name, JSON.parse(text)) })
        }
        if (calls.length > 0) continue
        const { usage, output_text: text } = response
        const tokens = { prompt: usage?.input_tokens ?? 0, completion: usage?.output_tokens ?? 0 }
        return { text, reasoning: reasoningOf(response), finish: finishOf(response), tokens }
      }
    },
    async extract (model, prompt, schema) {
      const { output_parsed: parsed } = await client.responses.parse({
        model, input: prompt, text: { format: { type: 'json_schema', name: 'answer', strict: true, schema } }
      })
      return parsed
    },
    failure: model => statusOf(client.responses.create({ model, input: 'x' }))
  }
}

/** A streamed response as assembled by the SDK; throws if its events are not in OpenAI's order. */
export async function gatherResponse (client: OpenAI, body: Body): Promise<Response> {
  const stream = client.responses.stream({ ...body, stream: true })
  const events: OpenAI.Responses.ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  const problems = orderProblems(events)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return await stream.finalResponse()
}

type ChatItem = Extract<OpenAI.Responses.ResponseOutputItem, { type: 'message' | 'reasoning' | 'function_call' }>

function isChat (item: OpenAI.Responses.ResponseOutputItem): item is ChatItem {
  return item.type === 'message' || item.type === 'reasoning' || item.type === 'function_call'
}

function reasoningOf ({ output }: Response): string {
  return output.flatMap(item => item.type === 'reasoning' ? item.summary : []).map(({ text }) => text).join('')
}

/** In the words of chat. */
function finishOf ({ status, incomplete_details: details }: Response): string {
  if (status === 'completed') return 'stop'
  return details?.reason === 'max_output_tokens' ? 'length' : details?.reason ?? status ?? ''
}
