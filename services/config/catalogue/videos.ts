import { readFileSync } from 'node:fs'
import type { VideoAbilities } from './types.ts'

/** One model of videos.json; absent members are unknown. Prices are in models.json. */
type Row = Partial<Omit<VideoAbilities, 'prices'>>

let loaded: Readonly<Record<string, Readonly<Record<string, Row>>>> | undefined

/** Returns the entry of a video model by the provider's name for it. */
export function knownVideo (provider: string, upstream: string): VideoAbilities | undefined {
  const rows = rowsOf(provider)
  const row = Object.hasOwn(rows, upstream) ? rows[upstream] : undefined
  return row && { ...unknownVideo, ...row }
}

/** Returns a provider's names of its video models in the catalogue. */
export function knownVideoModelNames (provider: string): string[] {
  return Object.keys(rowsOf(provider))
}

/** An unknown video model. */
export const unknownVideo: VideoAbilities = {
  seconds: null,
  defaultSeconds: null,
  maxSeconds: null,
  sizes: null,
  defaultSize: null,
  aspectRatios: null,
  audio: true,
  defaultAudio: null,
  firstFrame: null,
  lastFrame: false,
  prices: []
}

function rowsOf (provider: string): Readonly<Record<string, Row>> {
  loaded ??= load()
  return Object.hasOwn(loaded, provider) ? loaded[provider] ?? {} : {}
}

function load (): NonNullable<typeof loaded> {
  const text = readFileSync(new URL('videos.json', import.meta.url), 'utf8')
  const { providers }: { providers: NonNullable<typeof loaded> } = JSON.parse(text)
  return providers
}
