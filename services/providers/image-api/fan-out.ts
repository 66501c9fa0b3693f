import { UpstreamError } from '../../shared/errors.ts'
import type { ImageAnswer, ImageUsage } from '../provider-image.ts'

/**
 * Makes `count` images in calls of at most `perCall` each, all at once, and puts together what came. Calls
 * that fail are made up for by nothing: what the others made is the answer. Throws the UpstreamError that
 * tells the client most when every call failed.
 */
export async function fanOut (
  count: number, perCall: number, make: (count: number) => Promise<ImageAnswer>
): Promise<ImageAnswer> {
  const counts = Array.from({ length: Math.ceil(count / perCall) }, (_, index) => {
    return Math.min(perCall, count - index * perCall)
  })
  const settled = await Promise.allSettled(counts.map(each => make(each)))
  const made = settled.flatMap(one => one.status === 'fulfilled' ? [one.value] : [])
  if (made.length > 0) return joined(made)
  throw mostTelling(settled.flatMap(one => one.status === 'rejected' ? [one.reason] : []))
}

function joined (answers: readonly ImageAnswer[]): ImageAnswer {
  const [first] = answers
  const isCounted = answers.every(({ usage }) => usage !== null)
  return {
    images: answers.flatMap(({ images }) => images),
    usage: isCounted ? answers.map(({ usage }) => usage).reduce(sum, null) : null,
    costNano: answers.reduce<number | null>((total, { costNano }) => {
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

/** A refused prompt rather than a broken connection; a call that was sent rather than one that was not. */
function mostTelling (failures: readonly unknown[]): unknown {
  const rank = (error: unknown): number => {
    if (!(error instanceof UpstreamError)) return 4
    if (error.kind === 'moderated') return 3
    if (error.kind === 'bad_request') return 2
    return error.sent === 'no' ? 0 : 1
  }
  return failures.toSorted((one, other) => rank(other) - rank(one))[0]
}
