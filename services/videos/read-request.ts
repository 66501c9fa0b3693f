import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { ModelConfig, VideoAbilities } from '../config/catalogue/types.ts'
import { detectMediaType } from '../media/file-types.ts'
import { GatewayError } from '../shared/errors.ts'
import type { VideoSize, VideoOptions } from '../providers/provider-video.ts'
import { unknownModel } from '../billing/video-price.ts'
import { findPictureAddress, maxAddressLength } from './find-picture-address.ts'

const maxPromptLength = 32_000
const maxPictureBytes = 8 * 1024 * 1024
const maxSide = 8192

/**
 * Reads what video a chat request asks for: the text of its last user message, the pictures in it, and the
 * object `video`. Throws GatewayError 400 for what cannot be or what the model does not make.
 */
export function readVideoOrder (request: ChatCompletionRequest, model: ModelConfig): VideoOptions {
  if (request.stream === true) {
    refuseParam('stream', `The model \`${model.id}\` makes videos, which cannot be streamed: leave \`stream\` out, or false. ` +
      'The request is held open until the video is ready.')
  }
  if ((request.n ?? 1) !== 1) refuseParam('n', 'A request makes one video: `n` must be 1.')
  const takesPictures = model.video?.firstFrame ?? model.capabilities.vision
  const { text, pictures } = readMessage(request, takesPictures)
  const [firstFrame = null, lastFrame = null, ...more] = pictures
  if (firstFrame !== null && !takesPictures) refuseParam('messages', `The model \`${model.id}\` takes no pictures.`)
  if (more.length > 0) refuseParam('messages', 'At most two pictures: the first and the last frame.')
  if (lastFrame !== null && model.video !== undefined && !model.video.lastFrame) {
    refuseParam('messages', `The model \`${model.id}\` takes one picture, the first frame.`)
  }
  if (text === '' && firstFrame === null) refuseParam('messages', 'The last user message says nothing to make a video of.')
  return { prompt: text, ...readOptions(request, model), firstFrame, lastFrame }
}

function readMessage (
  { messages }: ChatCompletionRequest, takesPictures: boolean
): { text: string, pictures: string[] } {
  const content = messages.findLast(({ role }) => role === 'user')?.content
  if (content === undefined || content === null) refuseParam('messages', 'There is no user message.')
  if (typeof content === 'string') return checked(readText(content, takesPictures))
  const texts: string[] = []
  const pictures: string[] = []
  for (const part of content) {
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'image_url') pictures.push(readPicture(part.image_url.url))
    else refuseParam('messages', `A video is made of text and pictures; '${part.type}' is neither.`)
  }
  return checked({ text: texts.join('\n').trim(), pictures })
}

function checked<Read extends { text: string }> (read: Read): Read {
  return read.text.length <= maxPromptLength ? read : refuseLength()
}

function refuseLength (): never {
  refuseParam('messages', `The prompt has more than ${maxPromptLength} characters.`)
}

/**
 * The address of a picture that stands in a text by itself is the first frame, and not a part of the prompt.
 */
function readText (content: string, takesPictures: boolean): { text: string, pictures: string[] } {
  if (content.length > maxPromptLength + maxAddressLength) refuseLength()
  const found = takesPictures ? findPictureAddress(content) : null
  if (found === null) return { text: content.trim(), pictures: [] }
  const { url, index } = found
  const rest = `${content.slice(0, index)} ${content.slice(index + url.length)}`
  return { text: rest.replace(/[ \t]{2,}/g, ' ').trim(), pictures: [url] }
}

function readPicture (url: string): string {
  if (/^https:\/\/./i.test(url)) return url
  const [head = ''] = /^data:image\/(?:png|jpe?g|webp|gif);base64,/i.exec(url.slice(0, 64)) ?? []
  if (head === '') {
    refuseParam('messages', 'A picture is an https URL, or a data URL of a PNG, JPEG, WebP or GIF in base64.')
  }
  const encodedLength = url.length - head.length
  if (encodedLength * 3 / 4 > maxPictureBytes) {
    refuseParam('messages', `A picture has at most ${maxPictureBytes / 1024 / 1024} MiB.`)
  }
  const bytes = Buffer.from(url.slice(head.length), 'base64')
  // What is not base64 is skipped by the decoder.
  if (bytes.length !== Math.floor((encodedLength - paddingOf(url)) * 3 / 4) || detectMediaType(bytes)?.kind !== 'image') {
    refuseParam('messages', 'A picture in a data URL is not a PNG, JPEG, WebP or GIF in base64.')
  }
  return url
}

const paddingOf = (url: string): number => url.endsWith('==') ? 2 : url.endsWith('=') ? 1 : 0

function readOptions (
  { video, seed }: ChatCompletionRequest, model: ModelConfig
): Pick<VideoOptions, 'seconds' | 'size' | 'aspectRatio' | 'seed' | 'audio'> {
  const abilities = model.video
  const seconds = video?.seconds ?? null
  const size = video?.size ?? null
  const aspectRatio = video?.aspect_ratio ?? null
  const audio = video?.audio ?? null
  checkSeconds(seconds, model)
  checkChoice('video.size', size, abilities?.sizes, model)
  if (size !== null) checkSize(toVideoSize(size))
  checkChoice('video.aspect_ratio', aspectRatio, abilities?.aspectRatios, model)
  if (size !== null && aspectRatio !== null && !isShape(toVideoSize(size), aspectRatio)) {
    refuseParam('video.aspect_ratio', `\`video.aspect_ratio\` and \`video.size\` differ: ${size} is not ${aspectRatio}.`)
  }
  if (audio === true && abilities?.audio === false) refuseParam('video.audio', `The model \`${model.id}\` makes no sound.`)
  return {
    seconds,
    size: size === null ? null : toVideoSize(size),
    aspectRatio,
    seed: video?.seed ?? seed ?? null,
    audio
  }
}

/** Throws GatewayError 400 for a length that the model does not make. */
export function checkSeconds (seconds: number | null, { id, video }: ModelConfig): void {
  if (seconds === null) return
  if (video?.seconds != null && !video.seconds.includes(seconds)) {
    refuseParam('video.seconds', `The model \`${id}\` makes videos of ${list(video.seconds)} seconds.`)
  }
  const most = video?.maxSeconds ?? unknownModel.maxSeconds
  if (seconds > most) refuseParam('video.seconds', `The model \`${id}\` makes videos of at most ${most} seconds.`)
}

function checkChoice (
  param: string, chosen: string | null, offered: VideoAbilities['sizes'] | undefined, { id }: ModelConfig
): void {
  if (chosen === null || offered == null || offered.includes(chosen)) return
  refuseParam(param, `The model \`${id}\` does not make ${chosen}; it makes ${list(offered)}.`)
}

/** 864x496 and 992x432 count as 16:9 and 21:9. */
export function isShape ({ width, height }: VideoSize, aspectRatio: string): boolean {
  const [across = 1, down = 1] = aspectRatio.split(':').map(Number)
  return Math.abs(width * down / (height * across) - 1) <= 0.04
}

/** No model makes larger ones; a server that tries to is blocked for long. */
function checkSize (size: VideoSize): void {
  if (Math.max(size.width, size.height) > maxSide) refuseParam('video.size', `A video has at most ${maxSide} pixels a side.`)
}

export function toVideoSize (text: string): VideoSize {
  const [width = 0, height = 0] = text.split('x').map(Number)
  return { width, height }
}

const list = (items: readonly (string | number)[]): string =>
  items.length < 2 ? items.join() : `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`

export function refuseParam (param: string, message: string): never {
  throw GatewayError.invalidRequest(message, { param })
}
