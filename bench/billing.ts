import type { Child } from './child.ts'
import { cpuUs, loaded } from './measure.ts'
import type { Load, Measurement, Pair } from './measure.ts'
import { spreadOf } from './statistics.ts'

/** The most CPU time that the ledger may add to a request, where the bare relay takes so much for one. */
const target = { extraUs: 10, bareUs: 67 }

const order = { count: 400, concurrency: 16 } as const
const warmUp = 30_000
const comparisonsPerRound = 12

/**
 * What the ledger adds to a chat request in CPU time: the same request to the same server, with a price and
 * given away. It is a small part of what a request takes, so short pieces are compared, in the order A B B A,
 * which takes out whatever grows or shrinks meanwhile. The bare relay tells how fast the machine is.
 */
export async function measureBilling (
  { bare, subject }: Pair<Child>, load: Load, rounds: number
): Promise<Measurement> {
  const bareUs = (): Promise<number> => cpuUs(bare, load, { ...order, request: 'free' })
  const billedUs = (): Promise<number> => cpuUs(subject, load, { ...order, request: 'short' })
  const freeUs = (): Promise<number> => cpuUs(subject, load, { ...order, request: 'free' })
  for (const [{ url, key }, request] of [[bare, 'free'], [subject, 'free'], [subject, 'short']] as const) {
    await loaded(load, { ...order, count: warmUp, request, url, key })
  }

  const medians: Record<'bare' | 'free' | 'billed' | 'extra', number[]> = { bare: [], free: [], billed: [], extra: [] }
  for (let round = 0; round < rounds; round++) {
    const values: typeof medians = { bare: [], free: [], billed: [], extra: [] }
    for (let comparison = 0; comparison < comparisonsPerRound; comparison++) {
      values.bare.push(await bareUs())
      const billed = [await billedUs()]
      const free = [await freeUs(), await freeUs()]
      billed.push(await billedUs())
      values.billed.push(mean(billed))
      values.free.push(mean(free))
      values.extra.push(mean(billed) - mean(free))
    }
    for (const name of ['bare', 'free', 'billed', 'extra'] as const) {
      medians[name].push(spreadOf(values[name]).median)
    }
  }
  return {
    title: `CPU, the same, billed beside not billed (+${target.extraUs} where bare takes ${target.bareUs})`,
    unit: 'µs/request',
    bare: spreadOf(medians.free),
    subject: spreadOf(medians.billed),
    ratio: null,
    targetRatio: null,
    extra: spreadOf(medians.extra),
    targetExtra: target.extraUs * spreadOf(medians.bare).median / target.bareUs
  }
}

function mean (values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
