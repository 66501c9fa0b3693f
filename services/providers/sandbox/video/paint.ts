import type { Colour, Drawing, Shape } from './scene.ts'

interface Painter {
  /** The frame at a time from 0 to 1; the buffer is reused. */
  frame (time: number): Pixels
}

/** Duration of the cross-fades from the first and to the last frame, as a share of the video. */
const fadeShare = 0.4

/** Creates a painter of a drawing that fades from the image `first` and to the image `last`. */
export function createPainter (
  drawing: Drawing, { first, last }: { first: Pixels | null, last: Pixels | null }
): Painter {
  const { width, height, shapes } = drawing
  const ground = gradient(drawing)
  const pixels = new Uint8Array(width * height * 4)
  return {
    frame (time) {
      pixels.set(ground)
      for (const shape of shapes) paintShape(pixels, width, height, shape, time)
      if (first !== null && time < fadeShare) blend(pixels, first, 1 - time / fadeShare)
      if (last !== null && time > 1 - fadeShare) blend(pixels, last, (time - 1 + fadeShare) / fadeShare)
      return pixels
    }
  }
}

function gradient ({ width, height, top, bottom }: Drawing): Pixels {
  const pixels = new Uint8Array(width * height * 4)
  const words = new Uint32Array(pixels.buffer)
  for (let y = 0; y < height; y++) {
    const share = y / height
    const at = y * width * 4
    pixels.set([...top.map((value, index) => value + ((bottom[index] ?? 0) - value) * share), 255], at)
    words.fill(words[y * width] ?? 0, y * width, (y + 1) * width)
  }
  return pixels
}

function paintShape (pixels: Pixels, width: number, height: number, shape: Shape, time: number): void {
  const { form, colour, radius, x, y, across, down, turns, phase } = shape
  const angle = 2 * Math.PI * (turns * time + phase)
  const centreX = (x + across * Math.cos(angle)) * width
  const centreY = (y + down * Math.sin(angle)) * height
  const size = radius * Math.min(width, height)
  const from = Math.max(0, Math.floor(centreY - size))
  const to = Math.min(height - 1, Math.ceil(centreY + size))
  for (let row = from; row <= to; row++) {
    const half = halfWidth(form, (row - centreY) / size) * size
    if (half <= 0) continue
    const left = Math.max(0, Math.ceil(centreX - half))
    const right = Math.min(width - 1, Math.floor(centreX + half))
    paintRow(pixels, row * width, left, right, colour)
  }
}

/** Half the width of a form at a height from -1 (top) to 1 (bottom). */
function halfWidth (form: Shape['form'], at: number): number {
  if (at < -1 || at > 1) return 0
  if (form === 'circle') return Math.sqrt(1 - at * at)
  return form === 'square' ? 0.9 : (at + 1) / 2
}

function paintRow (pixels: Pixels, row: number, from: number, to: number, [red, green, blue]: Colour): void {
  for (let x = from; x <= to; x++) {
    const at = (row + x) * 4
    pixels[at] = red
    pixels[at + 1] = green
    pixels[at + 2] = blue
  }
}

function blend (pixels: Pixels, other: Pixels, share: number): void {
  for (let at = 0; at < pixels.length; at++) {
    const own = pixels[at] ?? 0
    pixels[at] = own + ((other[at] ?? 0) - own) * share
  }
}

/** RGBA pixels, row by row. */
export type Pixels = Uint8Array
