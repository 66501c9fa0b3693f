import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import { MediaRejected } from '../media/errors.ts'
import { dimensionLimits, readDimensions } from '../media/dimensions.ts'
import { detectMediaType } from '../media/file-types.ts'
import type { ImageSize } from '../providers/provider-image.ts'

export interface Conversion {
  size: ImageSize | null
  format: ImageGenerationRequest['output_format']
  /** 0 to 100; of JPEG and WebP. */
  compression: ImageGenerationRequest['output_compression']
}

/**
 * Converts an image to the size and format of the request, for providers that offer only some. Returns the
 * same bytes if they are right already. Throws MediaRejected for bytes that are not an image.
 */
export async function convertImage (
  bytes: Uint8Array, { size, format, compression }: Conversion
): Promise<Uint8Array> {
  const { width, height } = readDimensions(bytes)
  const isRightSize = size === null || (size.width === width && size.height === height)
  const isRightFormat = format == null || typeOf(bytes) === `image/${format}`
  if (isRightSize && isRightFormat) return bytes
  // Loaded when first needed: most images need no conversion.
  const { default: sharp } = await import('sharp')
  const image = sharp(bytes, { limitInputPixels: dimensionLimits.pixels })
  if (size !== null && !isRightSize) image.resize(size.width, size.height, { fit: 'cover' })
  if (format != null) image.toFormat(format, format === 'png' ? {} : { quality: Math.max(1, compression ?? 100) })
  try {
    return await image.toBuffer()
  } catch {
    throw new MediaRejected('wrong_type', 'The image cannot be decoded.')
  }
}

function typeOf (bytes: Uint8Array): string | undefined {
  return detectMediaType(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))?.mime
}
