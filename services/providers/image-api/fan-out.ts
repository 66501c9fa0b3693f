import { UpstreamError } from '../../shared/errors.ts'
import type { GeneratedImages, ImageUsage } from '../provider-image.ts'

/** Generates `count` images in parallel calls of at most `perCall`. Throws if all of them failed. */
export async function fanOut (
  count: number, perCall: number, generate: (count: number) => Promise<GeneratedImages>
): Promise<GeneratedImages> {
  const counts = Array.from({ length: Math.ceil(count / perCall) }, (_, index) => {
    return Math.min(perCall, count - index * perCall)
  })
  const settled = await Promise.allSettled(counts.map(each => generate(each)))
  const succeeded = settled.flatMap(one => one.status === 'fulfilled' ? [one.value] : [])
  if (succeeded.length > 0) return merge(succeeded)
  throw mostInformative(settled.flatMap(one => one.status === 'rejected' ? [one.reason] : []))
}

function merge (responses: readonly GeneratedImages[]): GeneratedImages {
  const [first] = responses
  const isCounted = responses.every(({ usage }) => usage !== null)
  return {
    images: responses.flatMap(({ images }) => images),
    usage: isCounted ? responses.map(({ usage }) => usage).reduce(sum, null) : null,
    costNano: responses.reduce<number | null>((total, { costNano }) => {
      return total === null || costNano === null ? null : total + costNano
    }, 0),
    dropped: first?.dropped ?? [],
    ...(first?.chosen === undefined ? {} : { chosen: first.chosen })
  }
}

function sum (total: ImageUsage | null, usage: ImageUsage | null): ImageUsage | null {
  if (total === null || usage === null) return usage ?? total
  return {
    inputText: total.inputText + usage.inputText,
    inputImage: total.inputImage + usage.inputImage,
    output: total.output + usage.output,
    outputText: total.outputText + usage.outputText
  }
}

/** Prefers a rejected prompt to a connection error, and a sent call to an unsent one. */
function mostInformative (failures: readonly unknown[]): unknown {
  const rank = (error: unknown): number => {
    if (!(error instanceof UpstreamError)) return 4
    if (error.kind === 'moderated') return 3
    if (error.kind === 'bad_request') return 2
    return error.sent === 'no' ? 0 : 1
  }
  return failures.toSorted((one, other) => rank(other) - rank(one))[0]
}
