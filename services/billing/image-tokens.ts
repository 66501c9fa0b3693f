/** The tokens of an image in a prompt by its size in pixels; `low`: of one of low detail. */
export interface ImageRule { low: number, tokens (width: number, height: number): number }

/**
 * OpenAI's rules by model, the first that matches. Sources, in November 2026: OpenAI, "Images and vision", as
 * measured in its developer community, where gpt-5-mini and gpt-5-nano differ from that page.
 */
const rules: readonly (readonly [RegExp, ImageRule])[] = [
  [/gpt-4o-mini/, tiles(2833, 5667)],
  [/gpt-4\.1-mini/, patches(1.62)],
  [/gpt-4\.1-nano/, patches(2.46)],
  [/o4-mini/, patches(1.72)],
  [/gpt-5-mini/, patches(1.2)],
  [/gpt-5-nano/, patches(1.5)],
  [/\bo[13]\b/, tiles(75, 150)],
  [/gpt-4(o|\.1|\.5|-turbo)/, tiles(85, 170)],
  [/gpt-5/, tiles(70, 140)]
]

/** How a model counts the images of a prompt; null: not known. */
export function imageRuleOf (model: string): ImageRule | null {
  return rules.find(([models]) => models.test(model))?.[1] ?? null
}

/** Squares of 512 pixels, after the image was made to fit into 2048 by 2048 and its shorter side into 768. */
function tiles (base: number, perTile: number): ImageRule {
  return {
    low: base,
    tokens (width, height) {
      const fit = Math.min(1, 2048 / Math.max(width, height))
      const scale = fit * Math.min(1, 768 / (fit * Math.min(width, height)))
      return base + perTile * Math.ceil(width * scale / 512) * Math.ceil(height * scale / 512)
    }
  }
}

/** Squares of 32 pixels, at most 1536 of them. */
function patches (factor: number): ImageRule {
  const tokens = (width: number, height: number): number =>
    Math.ceil(Math.min(1536, Math.ceil(width / 32) * Math.ceil(height / 32)) * factor)
  return { low: tokens(512, 512), tokens }
}
