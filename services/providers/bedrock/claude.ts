import type { PlaceCall } from '../anthropic/place.ts'
import { parseEvent } from '../named-events.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import { urlPart } from '../url-part.ts'
import { bedrockErrorIn } from './errors.ts'
import { framesOf } from './frames.ts'

const version = 'bedrock-2023-05-31'
const versionHeader = 'anthropic-version'
const betaHeader = 'anthropic-beta'

/**
 * Where Bedrock takes calls of the Messages API: the model is in the path, what is a header elsewhere is in
 * the body, and there are no service tiers. Source: @anthropic-ai/bedrock-sdk 1.1.3.
 */
export function atBedrock (id: string, guardrail: Readonly<Record<string, string>>): PlaceCall {
  return ({ does, headers }) => {
    const { [versionHeader]: _, [betaHeader]: betas, ...others } = headers
    const suffix = does === 'stream' ? 'invoke-with-response-stream' : 'invoke'
    return {
      path: `/model/${urlPart(id)}/${suffix}`,
      headers: { ...others, ...guardrail },
      members: {
        model: undefined,
        stream: undefined,
        service_tier: undefined,
        anthropic_version: version,
        ...(betas === undefined ? {} : { anthropic_beta: betas.split(',').map(beta => beta.trim()) })
      }
    }
  }
}

/**
 * A stream of InvokeModel as the event stream that Anthropic sends. Iterating it throws UpstreamError for an
 * exception in the stream.
 */
export function asEventStream (response: UpstreamResponse, secret: string | null): UpstreamResponse {
  return {
    status: response.status,
    headers: { ...response.headers, 'content-type': 'text/event-stream' },
    read: limitBytes => response.read(limitBytes),
    pipeTo: sink => response.pipeTo(sink),
    resume: () => response.resume(),
    cancel: () => response.cancel(),
    finish: () => response.finish(),
    [Symbol.asyncIterator]: () => eventsIn(response, secret)
  }
}

async function * eventsIn (
  response: UpstreamResponse, secret: string | null
): AsyncGenerator<Buffer, void, undefined> {
  for await (const frame of framesOf(response)) {
    const failure = bedrockErrorIn(frame, secret)
    if (failure !== null) throw failure
    const { bytes } = parseEvent({ event: 'chunk', data: frame.payload.toString() })
    if (typeof bytes !== 'string') continue
    const text = Buffer.from(bytes, 'base64').toString().replace(/[\r\n]/g, ' ')
    yield Buffer.from(`data: ${text}\n\n`)
  }
}
