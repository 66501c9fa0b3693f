import type {
  DocumentBlockParam, ImageBlockParam, SearchResultBlockParam
} from '../../../schemas/anthropic/message-blocks.ts'
import type { FilePart, ImagePart, TextPart } from '../../../schemas/openai/chat-messages.ts'
import { refusedHere } from './refuse.ts'

export type PromptPart = TextPart | ImagePart | FilePart

export const textPart = (text: string): TextPart => ({ type: 'text', text })

/** An image as a part of a chat message; files are refused before. */
export function imagePart ({ source }: ImageBlockParam, param: string): ImagePart {
  if (source.type === 'file') throw refusedHere(param, 'files are not kept here; send their content')
  return { type: 'image_url', image_url: { url: urlOf(source) } }
}

type BytesSource = { type: 'url', url: string } | { type: 'base64', media_type: string, data: string }

function urlOf (source: BytesSource): string {
  return source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`
}

/** A document as a file, or as text where it is one. */
export function documentParts (block: DocumentBlockParam, param: string): PromptPart[] {
  const { source, title, context } = block
  switch (source.type) {
    case 'file': throw refusedHere(param, 'files are not kept here; send their content')
    case 'base64':
    case 'url': {
      const about = context == null || context === '' ? [] : [textPart(context)]
      return [...about, { type: 'file', file: { filename: title ?? 'document.pdf', file_data: urlOf(source) } }]
    }
    case 'text': return [textPart(wrapped('document', { title, context }, source.data))]
    case 'content': {
      if (typeof source.content === 'string') return [textPart(wrapped('document', { title, context }, source.content))]
      return source.content.map((part, at) => {
        return part.type === 'text' ? textPart(part.text) : imagePart(part, `${param}.source.content[${at}]`)
      })
    }
  }
}

export function searchResultText ({ source, title, content }: SearchResultBlockParam): string {
  return wrapped('search_result', { source, title }, content.map(({ text }) => text).join('\n'))
}

/** A text with its attributes, as in `<document title="…">`. */
function wrapped (name: string, attributes: Record<string, string | null | undefined>, text: string): string {
  const given = Object.entries(attributes).filter(([, value]) => value != null && value !== '')
  return `<${[name, ...given.map(([key, value]) => `${key}=${JSON.stringify(value)}`)].join(' ')}>\n${text}\n</${name}>`
}
