import { onlyFields } from '../image-api/fields.ts'
import type { GeneratedImages, ImageCall, ImageSize, GeneratedImage } from '../provider-image.ts'
import { readDirective } from './directives.ts'
import { throwIfAborted, delay } from './delay.ts'
import { fnv1aHash } from './hash.ts'

const defaultSize = { width: 1024, height: 1024 }

/** Makes plain images, coloured by the prompt. Throws UpstreamError for an error directive, or `aborted`. */
export async function generateSandboxImages (call: ImageCall): Promise<GeneratedImages> {
  const { request, size, count, signal } = call
  const { error, delayMs, breakOff } = readDirective(request.prompt, call.sandbox)
  await delay(delayMs, signal)
  const failure = error ?? breakOff
  if (failure !== null) throw failure
  const { dropped } = onlyFields(request, ['quality', 'output_format', 'output_compression'])
  // Sequential, so that one request does not occupy the whole thread pool.
  const images: GeneratedImage[] = []
  for (let index = 0; index < count; index++) {
    throwIfAborted(signal)
    const svg = svgOf(size ?? defaultSize, fnv1aHash(request.prompt, String(index)))
    images.push({ bytes: await encode(svg, call), revisedPrompt: null })
  }
  return { images, usage: null, costNano: null, dropped }
}

function svgOf ({ width, height }: ImageSize, hash: number): string {
  const colour = `#${(hash & 0xffffff).toString(16).padStart(6, '0')}`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<rect width="100%" height="100%" fill="${colour}"/>` +
    '<circle cx="50%" cy="50%" r="25%" fill="#fff" fill-opacity=".5"/></svg>'
}

const effort = { png: { compressionLevel: 6 }, webp: { effort: 2 }, jpeg: {} } as const

async function encode (svg: string, { request }: ImageCall): Promise<Uint8Array> {
  // Loaded on demand: importing sharp takes 0.1 s.
  const { default: sharp } = await import('sharp')
  const format = request.output_format ?? 'png'
  const { output_compression: compression } = request
  const quality = format === 'png' || compression == null ? {} : { quality: Math.max(1, compression) }
  return await sharp(Buffer.from(svg)).toFormat(format, { ...effort[format], ...quality }).toBuffer()
}
