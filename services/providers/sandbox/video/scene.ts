import { createHash } from 'node:crypto'

/** The parameters of a video. `first` and `last` are image files in base64. */
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

/** RGB, 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number]

/** A moving shape; lengths are shares of the shorter side, times shares of the video. */
export interface Shape {
  form: 'circle' | 'square' | 'triangle'
  colour: Colour
  radius: number
  /** Centre of the orbit, as shares of width and height. */
  x: number
  y: number
  /** Amplitudes of the orbit, number of turns, and initial phase. */
  across: number
  down: number
  turns: number
  phase: number
}

export interface Drawing { width: number, height: number, top: Colour, bottom: Colour, shapes: Shape[] }

/** The drawing of a scene: colours and shapes of the prompt; the rest is random, seeded by it. */
export function drawScene ({ prompt, seed, width, height }: Scene): Drawing {
  const random = createRandom(`${seed}\n${prompt}`)
  const words = prompt.toLowerCase().match(/\p{L}+/gu) ?? []
  const named = words.map(word => colours.get(word)).filter(colour => colour !== undefined)
  const forms = words.flatMap(word => formOf(word) ?? [])
  const anyColour = (): Colour => [random() * 255, random() * 255, random() * 255]
  const count = Math.max(forms.length, 3 + Math.floor(random() * 4))
  const shapes = Array.from({ length: Math.min(12, count) }, (_, index): Shape => ({
    form: forms[index] ?? forms[0] ?? (['circle', 'square', 'triangle'] as const)[Math.floor(random() * 3)] ?? 'circle',
    colour: named[index % Math.max(1, named.length)] ?? anyColour(),
    radius: 0.08 + random() * 0.14,
    x: 0.25 + random() * 0.5,
    y: 0.25 + random() * 0.5,
    across: 0.1 + random() * 0.3,
    down: 0.1 + random() * 0.3,
    turns: 1 + Math.floor(random() * 2),
    phase: random()
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

function createRandom (text: string): () => number {
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
