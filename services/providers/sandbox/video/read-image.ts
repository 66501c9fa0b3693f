import sharp from 'sharp'
import type { Pixels } from './paint.ts'

const maxPixels = 40_000_000

/** Decodes an image file in base64 and crops it to the size. Throws an Error if it is not an image. */
export async function readImage (base64: string, width: number, height: number): Promise<Pixels> {
  return await sharp(Buffer.from(base64, 'base64'), { limitInputPixels: maxPixels })
    .resize(width, height, { fit: 'cover' })
    .flatten({ background: 'black' })
    .ensureAlpha()
    .raw()
    .toBuffer()
}
