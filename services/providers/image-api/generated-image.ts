import type { GeneratedImage } from '../provider-image.ts'

/** An image at an address that a provider gave; a data URL holds the bytes themselves. */
export function imageAt (address: string, revisedPrompt: string | null): GeneratedImage {
  const isData = /^data:[^,]{0,200};base64,/.test(address)
  return isData ? imageFrom(address, revisedPrompt) : { url: address, revisedPrompt }
}

/** An image that a provider sent as base64, bare or as a data URL. */
export function imageFrom (base64: string, revisedPrompt: string | null): GeneratedImage {
  const start = base64.startsWith('data:') ? base64.indexOf(',') + 1 : 0
  return { bytes: Buffer.from(base64.slice(start), 'base64'), revisedPrompt }
}
