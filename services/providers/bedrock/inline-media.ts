import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ChatMessage, UserPart } from '../../../schemas/openai/chat-messages.ts'
import { createPartReader, type MediaOptions, type ReadPart } from '../gemini/media.ts'

/**
 * The request with the bytes of the images and documents that it names by URL, which Bedrock does not fetch.
 * Throws UpstreamError.
 */
export async function withInlineMedia (
  request: ChatCompletionRequest, options: MediaOptions
): Promise<ChatCompletionRequest> {
  if (!request.messages.some(hasUrls)) return request
  const read = createPartReader(options)
  const messages = await Promise.all(request.messages.map(async (message, at) => {
    if (message.role !== 'user' || typeof message.content === 'string') return message
    const parts = message.content.map((part, place) => inline(part, read, `messages[${at}].content[${place}]`))
    return { ...message, content: await Promise.all(parts) }
  }))
  return { ...request, messages }
}

async function inline (part: UserPart, read: ReadPart, param: string): Promise<UserPart> {
  const url = urlOf(part)
  if (url === null) return part
  if (part.type === 'image_url') return { ...part, image_url: { ...part.image_url, url: await fetched(part) } }
  // Read as a video: `createPartReader` checks that an image is one, and a document is not.
  const data = await fetched({ type: 'video_url', video_url: { url } })
  return part.type === 'file' ? { ...part, file: { ...part.file, file_data: data } } : part

  async function fetched (from: UserPart): Promise<string> {
    const { inlineData } = { inlineData: undefined, ...await read(from, param) }
    return inlineData === undefined ? '' : `data:${inlineData.mimeType};base64,${inlineData.data}`
  }
}

function hasUrls (message: ChatMessage): boolean {
  return message.role === 'user' && typeof message.content !== 'string' && message.content.some(part => urlOf(part) !== null)
}

function urlOf (part: UserPart): string | null {
  const url = part.type === 'image_url' ? part.image_url.url : part.type === 'file' ? part.file.file_data : null
  return url != null && /^https?:/i.test(url) ? url : null
}
