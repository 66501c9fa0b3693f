import { readFileSync } from 'node:fs'

/** What is known of a video model. Null: nothing. */
export interface KnownVideo {
  /** The lengths it makes, in seconds. */
  seconds: number[] | null
  defaultSeconds: number | null
  maxSeconds: number | null
  /** As clients write them, e.g. `1280x720`. */
  sizes: string[] | null
  aspectRatios: string[] | null
  /** False only where it is known to make none. */
  audio: boolean
  firstFrame: boolean
  lastFrame: boolean
  /** No source tells any: the operator sets the price. */
  prices: []
}

/** One model in the data file; what is absent is not known. */
type Row = Partial<Omit<KnownVideo, 'prices'>> & Pick<KnownVideo, 'firstFrame' | 'lastFrame'>

let loaded: Readonly<Record<string, Readonly<Record<string, Row>>>> | undefined

/** What is known of a video model by its name at a provider. */
export function knownVideo (provider: string, upstream: string): KnownVideo | undefined {
  const rows = rowsOf(provider)
  const row = Object.hasOwn(rows, upstream) ? rows[upstream] : undefined
  return row && { ...nothing, ...row, prices: [] }
}

/** The names of the video models that are known of a provider. */
export function knownVideoNames (provider: string): string[] {
  return Object.keys(rowsOf(provider))
}

const nothing = {
  seconds: null, defaultSeconds: null, maxSeconds: null, sizes: null, aspectRatios: null, audio: true
} as const

function rowsOf (provider: string): Readonly<Record<string, Row>> {
  loaded ??= load()
  return Object.hasOwn(loaded, provider) ? loaded[provider] ?? {} : {}
}

function load (): NonNullable<typeof loaded> {
  const text = readFileSync(new URL('videos.json', import.meta.url), 'utf8')
  const { providers }: { providers: NonNullable<typeof loaded> } = JSON.parse(text)
  return providers
}
