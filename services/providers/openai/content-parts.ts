import { isObject, isText, type JsonObject } from '../../shared/json.ts'

/** The types of parts that hold thoughts. Mistral: `{type: 'thinking', thinking: [{type: 'text', text}]}`. */
const thoughtTypes = new Set<unknown>(['thinking', 'reasoning', 'reasoning_text', 'summary_text', 'thought'])

/**
 * The members of a message whose content is a list of parts, where OpenAI has them: `content`,
 * `reasoning_content`, `refusal`, `images` as OpenRouter has them, and `audio`.
 */
export function membersOfParts (parts: readonly unknown[], { images }: JsonObject): JsonObject {
  const members: JsonObject = { content: '' }
  const pictures: unknown[] = Array.isArray(images) ? [...images] : []
  const add = (name: string, text: string): void => {
    if (text !== '') members[name] = String(members[name] ?? '') + text
  }
  for (const part of parts) {
    if (typeof part === 'string') add('content', part)
    if (!isObject(part)) continue
    const url = pictureUrlOf(part)
    if (thoughtTypes.has(part.type) || part.thought === true) add('reasoning_content', textIn(part))
    else if (isText(part.refusal)) add('refusal', part.refusal)
    else if (url !== null) pictures.push({ type: 'image_url', image_url: { url } })
    else if (isAudio(part)) members.audio = audioOf(part)
    else add('content', textIn(part))
  }
  return pictures.length === 0 ? members : { ...members, images: pictures }
}

/** The text of a part, which may be nested. */
function textIn (part: unknown): string {
  if (typeof part === 'string') return part
  if (!isObject(part)) return ''
  const { text, thinking, reasoning, summary, content } = part
  const inner = [text, thinking, reasoning, summary, content]
    .find(value => isText(value) || Array.isArray(value))
  return Array.isArray(inner) ? inner.map(textIn).join('') : String(inner ?? '')
}

/** The URL of a part that is a picture, in OpenAI's forms or Anthropic's; null: it is none. */
export function pictureUrlOf (part: JsonObject): string | null {
  const { type, image_url: image, source, b64_json: base64 } = part
  const url = isObject(image) ? image.url : image
  if (isText(url)) return url
  if (isText(base64)) return `data:image/png;base64,${base64}`
  if (type !== 'image' || !isObject(source)) return null
  if (isText(source.data)) return `data:${String(source.media_type ?? 'image/png')};base64,${source.data}`
  return isText(source.url) ? source.url : null
}

function isAudio ({ type }: JsonObject): boolean {
  return type === 'audio' || type === 'output_audio' || type === 'input_audio'
}

/** Sound as OpenAI's `audio` of a message. Its id expires at once, as no later request can name it. */
function audioOf (part: JsonObject): JsonObject {
  const sound = [part.audio, part.output_audio, part.input_audio].find(isObject) ?? part
  return {
    id: isText(sound.id) ? sound.id : 'audio',
    data: isText(sound.data) ? sound.data : '',
    transcript: isText(sound.transcript) ? sound.transcript : '',
    expires_at: Math.floor(Date.now() / 1000)
  }
}
