import { createHash } from 'node:crypto'

/** What a video shows. Pictures are PNG or JPEG in base64. */
export interface Scene {
  prompt: string
  seed: number
  seconds: number
  width: number
  height: number
  first: string | null
  last: string | null
}

export const framesPerSecond = 15

export type Colour = readonly [red: number, green: number, blue: number]

/** A thing that moves; lengths are shares of the shorter side, times shares of the video. */
export interface Shape {
  form: 'circle' | 'square' | 'triangle'
  colour: Colour
  radius: number
  /** Where it is in the middle of its way, as shares of width and height. */
  x: number
  y: number
  /** How far it swings across and down, how often in the whole video, and where it begins. */
  across: number
  down: number
  turns: number
  phase: number
}

export interface Picture { width: number, height: number, top: Colour, bottom: Colour, shapes: Shape[] }

/**
 * Reads a scene: what the prompt names is taken from it, the rest is drawn by lot, always the same for the
 * same prompt.
 */
export function readScene ({ prompt, seed, width, height }: Scene): Picture {
  const draw = createLot(`${seed}\n${prompt}`)
  const words = prompt.toLowerCase().match(/\p{L}+/gu) ?? []
  const named = words.map(word => colours.get(word)).filter(colour => colour !== undefined)
  const forms = words.flatMap(word => formOf(word) ?? [])
  const anyColour = (): Colour => [draw() * 255, draw() * 255, draw() * 255]
  const count = Math.max(forms.length, 3 + Math.floor(draw() * 4))
  const shapes = Array.from({ length: Math.min(12, count) }, (_, index): Shape => ({
    form: forms[index] ?? forms[0] ?? (['circle', 'square', 'triangle'] as const)[Math.floor(draw() * 3)] ?? 'circle',
    colour: named[index % Math.max(1, named.length)] ?? anyColour(),
    radius: 0.08 + draw() * 0.14,
    x: 0.25 + draw() * 0.5,
    y: 0.25 + draw() * 0.5,
    across: 0.1 + draw() * 0.3,
    down: 0.1 + draw() * 0.3,
    turns: 1 + Math.floor(draw() * 2),
    phase: draw()
  }))
  const dark = (colour: Colour): Colour => [colour[0] * 0.35, colour[1] * 0.35, colour[2] * 0.35]
  return { width, height, top: dark(anyColour()), bottom: anyColour(), shapes }
}

const colours = new Map<string, Colour>(Object.entries({
  red: [220, 40, 40],
  green: [40, 160, 70],
  blue: [40, 90, 220],
  yellow: [240, 210, 40],
  orange: [240, 130, 30],
  purple: [130, 60, 190],
  pink: [240, 120, 180],
  white: [245, 245, 245],
  black: [15, 15, 15],
  grey: [128, 128, 128],
  gray: [128, 128, 128],
  brown: [120, 75, 40],
  golden: [230, 180, 50],
  turquoise: [50, 200, 190]
}))

function formOf (word: string): Shape['form'] | undefined {
  if (/^(ball|circle|sun|moon|planet|bubble|wheel|dot)s?$/.test(word)) return 'circle'
  if (/^(square|box|boxes|cube|house|building|block|window)s?$/.test(word)) return 'square'
  return /^(triangle|mountain|pyramid|tree|tent|sail)s?$/.test(word) ? 'triangle' : undefined
}

/** Numbers from 0 up to, not including, 1, which depend on the text alone. */
function createLot (text: string): () => number {
  let bytes = createHash('sha256').update(text).digest()
  let at = 0
  return () => {
    if (at + 4 > bytes.length) {
      bytes = createHash('sha256').update(bytes).digest()
      at = 0
    }
    at += 4
    return bytes.readUInt32BE(at - 4) / 2 ** 32
  }
}
