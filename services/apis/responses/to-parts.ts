import type { TextPart, UserPart } from '../../../schemas/openai/chat-messages.ts'
import type { MessagePart } from '../../../schemas/openai/response-items.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isText } from '../../shared/json.ts'

/** The parts of an input as chat has them. Throws GatewayError 400 for files by id: none are kept here. */
export function toChatParts (parts: readonly MessagePart[], param: string): UserPart[] {
  return parts.map((part, at) => toChatPart(part, `${param}[${at}]`))
}

function toChatPart (part: MessagePart, param: string): UserPart {
  switch (part.type) {
    case 'input_text': return textPart(part)
    case 'output_text': return { type: 'text', text: part.text }
    case 'refusal': return { type: 'text', text: part.refusal }
    case 'input_audio': return { type: 'input_audio', input_audio: part.input_audio }
    case 'input_image': return imagePart(part, param)
    case 'input_file': return filePart(part, param)
  }
}

type Part<Type extends MessagePart['type']> = Extract<MessagePart, { type: Type }>

function textPart ({ text, prompt_cache_breakpoint: breakpoint }: Part<'input_text'>): TextPart {
  return { type: 'text', text, ...breakpointOf(breakpoint) }
}

function breakpointOf (breakpoint: Part<'input_text'>['prompt_cache_breakpoint']) {
  return breakpoint === undefined ? {} : { prompt_cache_breakpoint: { mode: breakpoint.mode } }
}

function imagePart (
  part: Part<'input_image'>, param: string
): UserPart {
  const { image_url: url, file_id: fileId, detail, prompt_cache_breakpoint: breakpoint } = part
  if (isText(fileId)) throw fileById(`${param}.file_id`, 'image_url')
  if (!isText(url)) throw GatewayError.unsupportedParameter(`${param}.image_url`, 'An image needs an `image_url`.')
  return {
    type: 'image_url',
    image_url: { url, ...(detail == null ? {} : { detail }) },
    ...breakpointOf(breakpoint)
  }
}

function filePart (part: Part<'input_file'>, param: string): UserPart {
  const { file_data: data, file_url: url, file_id: fileId, filename } = part
  const breakpoint = part.prompt_cache_breakpoint
  if (isText(fileId)) throw fileById(`${param}.file_id`, 'file_data')
  const bytes = isText(data) ? data : url
  if (!isText(bytes)) throw GatewayError.unsupportedParameter(`${param}.file_data`, 'A file needs `file_data` or `file_url`.')
  return {
    type: 'file',
    file: { file_data: bytes, ...(isText(filename) ? { filename } : {}) },
    ...breakpointOf(breakpoint)
  }
}

function fileById (param: string, instead: string) {
  return GatewayError.unsupportedParameter(param, `Files by id are not served by this gateway; send \`${instead}\`.`)
}

/** The texts of instructions. Throws GatewayError 400 for anything else in them. */
export function textPartsOf (content: string | readonly MessagePart[], param: string): TextPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part, at) => {
    if (part.type === 'input_text') return textPart(part)
    if (part.type === 'output_text') return { type: 'text', text: part.text }
    throw GatewayError.unsupportedParameter(`${param}[${at}].type`, `Instructions are text; they cannot have '${part.type}'.`)
  })
}
