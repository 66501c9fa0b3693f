import type { Child } from './child.ts'
import { cpuUsPerRequest, runLoad } from './measure.ts'
import type { Load, Measurement, ServerPair } from './measure.ts'
import { lowerHalfOf, mean, spreadOf, standardErrorOf } from './statistics.ts'
import type { Spread } from './statistics.ts'

/**
 * The most CPU time that the ledger may add, on a machine where the bare relay takes `bareUs` per request.
 */
const target = { extraUs: 5, bareUs: 62 }

const order = { count: 500, concurrency: 16 } as const
/** Alternating, until the JIT has compiled the writes of a batch, which run once per hundred requests. */
const warmUp = { rounds: 5, count: 15_000 } as const
const comparisonsPerRound = 18

/** Longer than the ledger's flush interval; the request log's is longer, but costs both kinds the same. */
const afterMs = 60

type Kind = 'bare' | 'free' | 'priced'

/** The order of the pieces of one comparison. */
const comparison: readonly Kind[] = [
  'bare', 'priced', 'free', 'free', 'priced',
  'bare', 'free', 'priced', 'priced', 'free'
]

/**
 * Measures the CPU time that the ledger adds to a chat request, by the same request to a model with a price
 * and to a free one. docs/performance.md explains the order of the pieces and why only the faster half
 * counts.
 */
export async function measureBilling (
  { bare, subject }: ServerPair<Child>, load: Load, rounds: number
): Promise<Measurement> {
  for (let round = 0; round < warmUp.rounds; round++) {
    for (const [{ url, key }, request] of [[bare, 'free'], [subject, 'free'], [subject, 'priced']] as const) {
      await runLoad(load, { ...order, count: warmUp.count, request, url, key })
    }
  }

  async function pieceUs (kind: Kind): Promise<number> {
    const [server, request] = kind === 'bare' ? [bare, 'free'] as const : [subject, kind]
    return await cpuUsPerRequest(server, load, { ...order, request }, afterMs)
  }

  async function compare (): Promise<Pieces> {
    const pieces: Pieces = { bare: [], free: [], priced: [] }
    for (const kind of comparison) pieces[kind].push(await pieceUs(kind))
    return pieces
  }

  const measured: Pieces[][] = []
  while (measured.length < rounds) {
    const round: Pieces[] = []
    while (round.length < comparisonsPerRound) round.push(await compare())
    measured.push(round)
  }
  const comparisons = measured.flat()
  const together = figuresOf(comparisons)
  const each = measured.map(figuresOf)
  const spread = (what: 'free' | 'priced'): Spread =>
    ({ ...spreadOf(each.map(figures => figures[what])), middle: together[what] })
  return {
    title: `CPU, the same, with and without a price (+${target.extraUs} where bare takes ${target.bareUs})`,
    unit: 'µs/request',
    bare: spread('free'),
    subject: spread('priced'),
    ratio: null,
    targetRatio: null,
    extra: { value: together.extra, error: standardErrorOf(comparisons, some => figuresOf(some).extra) },
    targetExtra: target.extraUs * together.bare / target.bareUs
  }
}

/** CPU time of one request in each piece of a comparison, in µs. */
type Pieces = Record<Kind, number[]>

/** The figures of some pieces, in the same unit. */
type Figures = Record<Kind | 'extra', number>

function figuresOf (comparisons: readonly Pieces[]): Figures {
  const figureOf = (kind: Kind) => meanOfFasterHalf(comparisons.flatMap(pieces => pieces[kind]))
  const [bare, free, priced] = [figureOf('bare'), figureOf('free'), figureOf('priced')]
  return { bare, free, priced, extra: priced - free }
}

function meanOfFasterHalf (piecesUs: readonly number[]): number {
  return mean(lowerHalfOf(piecesUs))
}
