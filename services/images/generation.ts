import type { Booking } from '../billing/ledger/hold/job-holds.ts'
import type { GeneratedImages } from '../providers/provider-image.ts'
import type { JoinableWork } from '../requests/joins/joinable.ts'
import type { GatewayError } from '../shared/errors.ts'

/** What a generation has made, as every client that waits for it may get it. */
export interface Made {
  model: string | null
  provider: string | null
  upstreamModel: string | null
  headers: Record<string, string>
  /** What the account is charged, in nano-USD. */
  costNano: number
  /** The hold and the posting of the charge; null if nothing was held. */
  booking: Booking | null
  answer: Pick<GeneratedImages, 'chosen' | 'usage'>
  /** Ids of the stored media. */
  images: { media: string, revisedPrompt: string | null }[]
}

/** A generation as stored. Times are ms since 1970. */
export interface Generation extends JoinableWork {
  state: 'running' | 'succeeded' | 'failed'
  owner: string
  /** How long the heartbeat of its node is overdue, in ms; null if there is no such node. */
  silentMs: number | null
  made: Made | null
  failure: GatewayError | null
}

/** The ids of the stored images. */
export function mediaOf (made: Made | null): string[] {
  return made === null ? [] : made.images.map(({ media }) => media)
}
