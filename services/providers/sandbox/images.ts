import { pickFields } from '../image-api/fields.ts'
import type { ImageAnswer, ImageCall, GeneratedImage } from '../provider-image.ts'
import { readDirective } from './directives.ts'
import { drawPicture } from './picture.ts'
import { throwIfAborted, wait } from './wait.ts'

const defaultSize = { width: 1024, height: 1024 }

/**
 * Draws pictures in this process: the same request always gets the same ones. Throws UpstreamError when the
 * prompt asks for a failure (see directives.ts) and when the call is aborted.
 */
export async function makeImages (call: ImageCall): Promise<ImageAnswer> {
  const { request, size, count, signal } = call
  const { error, delayMs, breakOff } = readDirective(request.prompt)
  await wait(delayMs, signal)
  const failure = error ?? breakOff
  if (failure !== null) throw failure
  const { dropped } = pickFields(request, ['quality', 'output_format', 'output_compression'])
  // One after the other: a client that asks for ten does not get all threads of the process.
  const images: GeneratedImage[] = []
  for (let index = 0; index < count; index++) {
    throwIfAborted(signal)
    const svg = drawPicture(request.prompt, size ?? defaultSize, index)
    images.push({ bytes: await encode(svg, call), revisedPrompt: null })
  }
  return { images, usage: null, costNano: null, dropped }
}

/** Flat colours need no more than the least effort. */
const effort = { png: { compressionLevel: 6 }, webp: { effort: 2 }, jpeg: {} } as const

async function encode (svg: string, { request }: ImageCall): Promise<Uint8Array> {
  // Loaded when first needed: the library takes a tenth of a second, and most gateways never draw.
  const { default: sharp } = await import('sharp')
  const format = request.output_format ?? 'png'
  const { output_compression: compression } = request
  const quality = format === 'png' || compression == null ? {} : { quality: Math.max(1, compression) }
  return await sharp(Buffer.from(svg)).toFormat(format, { ...effort[format], ...quality }).toBuffer()
}
