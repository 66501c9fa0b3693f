import sharp from 'sharp'

/** Pixels row by row, four bytes each: red, green, blue and opacity. */
export type Pixels = Uint8Array

const maxPixels = 40_000_000

/** Decodes a picture in base64, scaled and cut to the size. Throws an Error for what is not one. */
export async function readPicture (base64: string, width: number, height: number): Promise<Pixels> {
  return await sharp(Buffer.from(base64, 'base64'), { limitInputPixels: maxPixels })
    .resize(width, height, { fit: 'cover' })
    .flatten({ background: 'black' })
    .ensureAlpha()
    .raw()
    .toBuffer()
}
