/**
 * How a server generates images. Source: npm openai 7.57.0, @ai-sdk/azure 4.0.85, together-ai 0.52.0,
 * @ai-sdk/xai 5.0.12, @openrouter/sdk 1.3.19, 24 Nov 2026.
 */
export interface ImageDialect {
  path: string
  perCall: number
  /** Whether a size is sent as `size`, as `width` and `height`, or as the nearest ratio and a resolution. */
  size: 'size' | 'sides' | 'ratio'
  /** The `response_format` for inline bytes; null: it must not be sent. */
  bytesFormat: 'b64_json' | 'base64' | null
  /** Request fields the upstream refuses: dropped, and named in a response header. */
  drop: readonly string[]
}

const compatible: ImageDialect = {
  path: '/images/generations', perCall: 10, size: 'size', bytesFormat: 'b64_json', drop: []
}

export const imageDialects = {
  compatible,
  /** Always sends bytes, and refuses `response_format`. */
  openai: { ...compatible, bytesFormat: null },
  together: {
    ...compatible,
    perCall: 4,
    size: 'sides',
    bytesFormat: 'base64',
    drop: ['quality', 'style', 'background', 'moderation', 'output_format', 'output_compression', 'user']
  },
  xai: {
    ...compatible,
    size: 'ratio',
    drop: ['style', 'background', 'moderation', 'output_format', 'output_compression', 'seed']
  },
  // Some of the models behind it refuse more than one image.
  openrouter: { ...compatible, path: '/images', perCall: 1, bytesFormat: null, drop: ['style', 'moderation'] }
} satisfies Readonly<Record<string, ImageDialect>>
