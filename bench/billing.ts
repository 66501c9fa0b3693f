import type { Child } from './child.ts'
import { cpuUs, loaded } from './measure.ts'
import type { Load, Measurement, Pair } from './measure.ts'
import { mean, spreadOf } from './statistics.ts'

/** The most CPU time that the ledger may add to a request, where the bare relay takes so much for one. */
const target = { extraUs: 10, bareUs: 67 }

const order = { count: 400, concurrency: 16 } as const
const warmUp = 30_000
const comparisonsPerRound = 12

/** CPU time of one request, in µs. */
interface Comparison { bare: number, free: number, billed: number, extra: number }

/**
 * What the ledger adds to a chat request in CPU time: the same request to the same server, with a price and
 * given away. It is a small part of what a request takes, so short pieces are compared, in the order A B B A,
 * which takes out whatever grows or shrinks meanwhile. The bare relay tells how fast the machine is.
 */
export async function measureBilling (
  { bare, subject }: Pair<Child>, load: Load, rounds: number
): Promise<Measurement> {
  for (const [{ url, key }, request] of [[bare, 'free'], [subject, 'free'], [subject, 'sold']] as const) {
    await loaded(load, { ...order, count: warmUp, request, url, key })
  }

  async function compare (): Promise<Comparison> {
    const freeUs = () => cpuUs(subject, load, { ...order, request: 'free' })
    const billedUs = () => cpuUs(subject, load, { ...order, request: 'sold' })
    const bareUs = await cpuUs(bare, load, { ...order, request: 'free' })
    const first = await billedUs()
    const free = mean([await freeUs(), await freeUs()])
    const billed = mean([first, await billedUs()])
    return { bare: bareUs, free, billed, extra: billed - free }
  }

  const measured: Comparison[][] = []
  for (let round = 0; round < rounds; round++) {
    const comparisons: Comparison[] = []
    while (comparisons.length < comparisonsPerRound) comparisons.push(await compare())
    measured.push(comparisons)
  }
  /** Of the medians of the rounds. */
  const spread = (what: keyof Comparison) => spreadOf(measured.map(comparisons => {
    return spreadOf(comparisons.map(one => one[what])).median
  }))
  return {
    title: `CPU, the same, billed beside not billed (+${target.extraUs} where bare takes ${target.bareUs})`,
    unit: 'µs/request',
    bare: spread('free'),
    subject: spread('billed'),
    ratio: null,
    targetRatio: null,
    extra: spread('extra'),
    targetExtra: target.extraUs * spread('bare').median / target.bareUs
  }
}
