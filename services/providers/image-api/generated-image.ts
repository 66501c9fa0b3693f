import type { GeneratedImage } from '../provider-image.ts'

/** An image at a URL from a provider, or the bytes of a data URL. */
export function imageFromUrl (url: string, revisedPrompt: string | null): GeneratedImage {
  const isData = /^data:[^,]{0,200};base64,/.test(url)
  return isData ? imageFromBase64(url, revisedPrompt) : { url, revisedPrompt }
}

/** An image in base64, plain or as a data URL. */
export function imageFromBase64 (base64: string, revisedPrompt: string | null): GeneratedImage {
  const start = base64.startsWith('data:') ? base64.indexOf(',') + 1 : 0
  return { bytes: Buffer.from(base64.slice(start), 'base64'), revisedPrompt }
}
