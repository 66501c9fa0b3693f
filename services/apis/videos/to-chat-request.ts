import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { VideoCreateRequest } from '../../../schemas/openai/videos.ts'
import { GatewayError } from '../../shared/errors.ts'

/** The chat request for the same video. */
export function videoToChat (body: VideoCreateRequest): ChatCompletionRequest {
  const { model, prompt, seconds, size, seed, audio, metadata } = body
  const { input_reference: first, last_frame: last } = body
  if (last !== undefined && first === undefined) {
    throw GatewayError.invalidValue('last_frame', 'it needs a first frame, which is `input_reference`')
  }
  const pictures = [first, last].flatMap(picture => picture === undefined ? [] : [toPart(picture)])
  return {
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }, ...pictures] }],
    video: {
      ...seconds !== undefined && { seconds: Number(seconds) },
      ...size !== undefined && { size },
      ...body.aspect_ratio !== undefined && { aspect_ratio: body.aspect_ratio },
      ...seed !== undefined && { seed },
      ...audio !== undefined && { audio }
    },
    ...metadata !== undefined && { metadata },
    ...body.webhook_url !== undefined && { webhook_url: body.webhook_url }
  }
}

type Picture = NonNullable<VideoCreateRequest['input_reference']>

function toPart (picture: Picture) {
  const url = typeof picture === 'string' ? picture : picture.image_url
  return { type: 'image_url' as const, image_url: { url } }
}

/** An error of the chat request, with the names that its fields have in the request for a video. */
export function inVideoFields (error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.param === null) return error
  return error.withParam(videoFieldOf(error.param), error.message.replaceAll('`video.', '`'))
}

/** The prompt was checked before, so what is wrong with a message is its pictures. */
export function videoFieldOf (param: string): string {
  return param === 'messages' ? 'input_reference' : param.replace(/^video\./, '')
}
