import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import type { Charge } from '../billing/charge.ts'
import type { GeneratedImages } from '../providers/provider-image.ts'
import type { Attempt } from '../requests/attempt.ts'
import type { Exchange } from '../requests/exchange.ts'
import { headersOf, type RequestRecord } from '../requests/request-record.ts'
import type { RequestReservation } from '../requests/request-reservation.ts'
import type { BegunGeneration } from './begun-generation.ts'
import type { Made } from './generation.ts'
import type { ImageCandidate } from './plan-images.ts'
import { storeImages, type StoredImage, type StoreImagesOptions } from './store-images.ts'
import { unlessAborted } from './work-limit.ts'

interface KeepImagesOptions extends Pick<StoreImagesOptions, 'media' | 'download' | 'onLost' | 'onCopyFailure'> {
  reservation: RequestReservation
  generation: BegunGeneration
  /** Aborted at the deadline of the request, and when the gateway stops. */
  limit: AbortSignal
}

/**
 * Stores what a candidate has made and records it in the generation, before it is charged: a retry finds what
 * was charged. Returns the charge. Throws as `storeImages` and `record`, after it has booked to suspense what
 * the provider may charge the operator.
 */
export async function keepImages (
  { body, payer, record }: Exchange<ImageGenerationRequest>,
  { candidate, response }: Attempt<ImageCandidate, GeneratedImages>,
  { reservation, generation, limit, media, download, onLost, onCopyFailure }: KeepImagesOptions
): Promise<{ made: Made, charge: Charge }> {
  const { provider, wanted, quote, cost, health } = candidate
  const { size, output_format: format, output_compression: compression } = body
  const chargeFor = (delivered: number): Charge => quote.chargeFor({ answer: response, delivered }, cost)
  try {
    const stored = await storeImages(response.images, {
      media,
      download,
      account: payer.chain[0] ?? '',
      provider: provider.id,
      conversion: { size: size != null && size !== 'auto' ? wanted.size : null, format, compression },
      signal: limit,
      onLost,
      onCopyFailure
    })
    record.images = stored.length
    const charge = chargeFor(stored.length)
    if (charge.amountNano > quote.maxNano) health.exceeded.output = true
    const costNano = Math.min(charge.amountNano, record.heldNano ?? 0)
    const dropped = [...wanted.dropped, ...response.dropped]
    const booking = reservation.booking(charge, provider.id)
    const made = madeOf(record, response, stored, { costNano, dropped, booking })
    await unlessAborted(generation.record(made), limit)
    return { made, charge }
  } catch (error) {
    reservation.suspend(() => chargeFor(response.images.length), provider.id)
    throw error
  }
}

function madeOf (
  record: RequestRecord, { chosen, usage }: GeneratedImages, stored: readonly StoredImage[],
  { dropped, ...more }: Pick<Made, 'costNano' | 'booking'> & { dropped: readonly string[] }
): Made {
  const { model, provider, upstreamModel } = record
  const images = stored.map(({ media: { id }, revisedPrompt }) => ({ media: id, revisedPrompt }))
  const headers = headersOf(record, dropped)
  return { model, provider, upstreamModel, ...more, images, headers, answer: { chosen, usage } }
}
