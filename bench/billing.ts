import type { Child } from './child.ts'
import { cpuUs, loaded } from './measure.ts'
import type { Load, Measurement, Pair } from './measure.ts'
import { lowerHalfOf, mean, spreadOf, standardErrorOf } from './statistics.ts'
import type { Spread } from './statistics.ts'

/**
 * The most CPU time that the ledger may add to a request, where the bare relay takes so much for one: on Node
 * 26, which runs both here, on the machine for which the target was set. On Node 24 it took 67 µs there.
 */
const target = { extraUs: 10, bareUs: 62 }

const order = { count: 500, concurrency: 16 } as const
/** By turns, until what writes a batch is compiled: it runs once for a hundred requests. */
const warmUp = { turns: 5, count: 15_000 } as const
const comparisonsPerRound = 18

/** Longer than the ledger collects; the log of requests, which waits longer, is the same for both kinds. */
const afterMs = 60

type Kind = 'bare' | 'free' | 'sold'

/** The pieces of one comparison, in their order. */
const comparison: readonly Kind[] = [
  'bare', 'sold', 'free', 'free', 'sold',
  'bare', 'free', 'sold', 'sold', 'free'
]

/**
 * What the ledger adds to a chat request in CPU time: the same request to the same server, with a price and
 * given away. It is a small part of what a request takes, and on a shared machine the same work takes twice
 * as long in one second as in another. So many short pieces are compared, in the orders A B B A and B A A B
 * by turns, which takes out whatever grows or shrinks meanwhile and what the first piece after the bare
 * relay's takes longer. What else runs on the machine only ever adds time, so the faster half of the pieces
 * of a kind counts, over all rounds. The bare relay tells how fast the machine is.
 */
export async function measureBilling (
  { bare, subject }: Pair<Child>, load: Load, rounds: number
): Promise<Measurement> {
  for (let turn = 0; turn < warmUp.turns; turn++) {
    for (const [{ url, key }, request] of [[bare, 'free'], [subject, 'free'], [subject, 'sold']] as const) {
      await loaded(load, { ...order, count: warmUp.count, request, url, key })
    }
  }

  async function pieceUs (kind: Kind): Promise<number> {
    const [server, request] = kind === 'bare' ? [bare, 'free'] as const : [subject, kind]
    return await cpuUs(server, load, { ...order, request }, afterMs)
  }

  async function compare (): Promise<Pieces> {
    const pieces: Pieces = { bare: [], free: [], sold: [] }
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
  const spread = (what: 'free' | 'sold'): Spread =>
    ({ ...spreadOf(each.map(figures => figures[what])), middle: together[what] })
  return {
    title: `CPU, the same, billed beside not billed (+${target.extraUs} where bare takes ${target.bareUs})`,
    unit: 'µs/request',
    bare: spread('free'),
    subject: spread('sold'),
    ratio: null,
    targetRatio: null,
    extra: { value: together.extra, error: standardErrorOf(comparisons, some => figuresOf(some).extra) },
    targetExtra: target.extraUs * together.bare / target.bareUs
  }
}

/** CPU time of one request in each piece of a comparison, in µs. */
type Pieces = Record<Kind, number[]>

/** What pieces come to, in the same unit. */
type Figures = Record<Kind | 'extra', number>

function figuresOf (comparisons: readonly Pieces[]): Figures {
  const usualOf = (kind: Kind) => usual(comparisons.flatMap(pieces => pieces[kind]))
  const [bare, free, sold] = [usualOf('bare'), usualOf('free'), usualOf('sold')]
  return { bare, free, sold, extra: sold - free }
}

function usual (piecesUs: readonly number[]): number {
  return mean(lowerHalfOf(piecesUs))
}
