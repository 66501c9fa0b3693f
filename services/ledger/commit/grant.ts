import { insufficientQuota, unknownAccount } from '../refusals.ts'
import type { Take } from '../types.ts'
import { availableNano, claim, grow, heldNano, shrink, spareNano, withinReachNano } from './account-state.ts'
import type { Standing } from './account-state.ts'
import type { GatewayError } from '../../shared/errors.ts'
import type { LedgerOptions } from '../options.ts'

/** Longer than the node that asked takes to ask again. */
const thriftMs = 200

/** A reservation that was decided, and the accounts it was decided on. */
export interface Decided { take: Take, chain: readonly Standing[] }

/** What the reservations of a batch have come to. */
export interface Decision {
  readonly granted: Decided[]
  /** Short of money on some account of the chain. */
  readonly short: Decided[]
  readonly refused: { take: Take, error: GatewayError }[]
}

/**
 * Decides reservations in their order, each on all accounts of its chain or on none: first from what this
 * node has spare, then from what the account has left. Runs without a pause, so that nothing is granted from
 * memory in between.
 */
export function decide (takes: readonly Take[], standings: ReadonlyMap<string, Standing>): Decision {
  const decision: Decision = { granted: [], short: [], refused: [] }
  for (const take of takes) {
    const missing = take.chain.find((account) => !standings.has(account))
    if (missing !== undefined) {
      decision.refused.push({ take, error: unknownAccount(missing) })
      continue
    }
    const chain = take.chain.flatMap((account) => standings.get(account) ?? [])
    const covered = take.durable === null ? takeFromNode(take, chain) : takeDurable(take, chain)
    decision[covered ? 'granted' : 'short'].push({ take, chain })
  }
  return decision
}

function takeFromNode ({ amountNano }: Take, chain: readonly Standing[]): boolean {
  const isCovered = (standing: Standing) => {
    const growthNano = amountNano - spareNano(standing)
    return growthNano <= 0 || growthNano <= availableNano(standing)
  }
  if (!chain.every(isCovered)) return false
  for (const standing of chain) claim(standing, amountNano)
  return true
}

function takeDurable ({ amountNano }: Take, chain: readonly Standing[]): boolean {
  if (chain.some((standing) => amountNano > withinReachNano(standing))) return false
  for (const standing of chain) {
    const lackingNano = amountNano - availableNano(standing)
    if (lackingNano > 0) shrink(standing, lackingNano)
    standing.durableNano += amountNano
  }
  return true
}

/**
 * Makes what the node keeps spare what it should be: the chunk, but no more than an eighth of what the
 * account has left, and nothing where nobody needs it here or another node asks for it. Only accounts that
 * were just used get more.
 */
export function balanceSpare (
  standing: Standing, { chunkNano }: Pick<LedgerOptions, 'chunkNano'>, nowMs: number
): void {
  const { row, share } = standing
  if (row.wanted !== 0) share.thriftyUntilMs = nowMs + thriftMs
  const leftNano = Math.max(0, withinReachNano(standing))
  const isIdle = share.idle && standing.claimedNano === 0
  const isThrifty = isIdle || nowMs < share.thriftyUntilMs
  const wishedNano = isThrifty ? 0 : Math.min(chunkNano, Math.floor(leftNano / 8))
  const excessNano = spareNano(standing) - wishedNano
  if (excessNano > 0) shrink(standing, Math.min(excessNano, standing.coveredNano))
  if (excessNano < 0 && standing.claimedNano > 0) {
    grow(standing, Math.min(-excessNano, Math.max(0, availableNano(standing))))
  }
}

/** The accounts of a chain that cannot cover an amount, with what they lack. Integer nano-USD. */
export function shortages ({ take, chain }: Decided): { account: string, lackingNano: number }[] {
  return chain.flatMap((standing) => {
    const lackingNano = take.amountNano - withinReachNano(standing)
    return lackingNano > 0 ? [{ account: standing.row.id, lackingNano }] : []
  })
}

/** The answer for a reservation that is short of money, in the figures of the first account that is. */
export function refusalOf ({ take, chain }: Decided): GatewayError {
  const short = chain.find((standing) => take.amountNano > withinReachNano(standing)) ?? chain[0]
  if (short === undefined) throw new Error('a reservation has no account')
  const { row, sums } = short
  return insufficientQuota({
    balanceNano: row.creditsNano - row.spentNano - sums.spentNano,
    heldNano: heldNano(short) - Math.max(0, spareNano(short)),
    neededNano: take.amountNano
  })
}
