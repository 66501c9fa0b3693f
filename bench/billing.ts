import type { Child } from './child.ts'
import { cpuUs, loaded } from './measure.ts'
import type { Load, Measurement, Pair } from './measure.ts'
import { lowerHalfOf, mean, spreadOf } from './statistics.ts'

/** The most CPU time that the ledger may add to a request, where the bare relay takes so much for one. */
const target = { extraUs: 10, bareUs: 67 }

const order = { count: 500, concurrency: 16 } as const
/** By turns, until what writes a batch is compiled: it runs once for a hundred requests. */
const warmUp = { turns: 5, count: 15_000 } as const
const comparisonsPerRound = 12

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
 * of a kind counts. The bare relay tells how fast the machine is.
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
    return await cpuUs(server, load, { ...order, request })
  }

  async function measureRound (): Promise<Figures> {
    const pieces: Record<Kind, number[]> = { bare: [], free: [], sold: [] }
    for (let count = 0; count < comparisonsPerRound; count++) {
      for (const kind of comparison) pieces[kind].push(await pieceUs(kind))
    }
    const [free, sold] = [usual(pieces.free), usual(pieces.sold)]
    return { bare: usual(pieces.bare), free, sold, extra: sold - free }
  }

  const measured: Figures[] = []
  while (measured.length < rounds) measured.push(await measureRound())
  const spread = (what: keyof Figures) => spreadOf(measured.map(figures => figures[what]))
  return {
    title: `CPU, the same, billed beside not billed (+${target.extraUs} where bare takes ${target.bareUs})`,
    unit: 'µs/request',
    bare: spread('free'),
    subject: spread('sold'),
    ratio: null,
    targetRatio: null,
    extra: spread('extra'),
    targetExtra: target.extraUs * spread('bare').median / target.bareUs
  }
}

/** What a round comes to: CPU time of one request, in µs. */
type Figures = Record<Kind | 'extra', number>

function usual (piecesUs: readonly number[]): number {
  return mean(lowerHalfOf(piecesUs))
}
