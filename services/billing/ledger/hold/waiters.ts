import { UpstreamError } from '../../../shared/errors.ts'
import type { NodeContext } from '../types.ts'

/** A reservation that waits for money that other requests hold or that other nodes have spare. */
export interface Waiter {
  readonly chain: readonly string[]
  readonly amountNano: number
  /** When it arrived, compared with others. */
  readonly order: number
  /** When it has waited long enough; monotonic clock. */
  readonly giveUpAtMs: number
  readonly signal: AbortSignal | undefined
  /** Returns false if this node's allowances do not suffice. */
  grantFromMemory (): boolean
  /** Has the next commit decide; then `wait` or `remove` follows. */
  sendToDatabase (): void
  refuse (error: unknown): void
}

interface WaitersContext extends Pick<NodeContext, 'options' | 'timers' | 'monotonic'> {
  /** About what this node could hold of an account now. */
  reachNano (account: string): number
}

interface Place {
  /** Whose money it waits for. */
  account: string
  /** Whether the database is deciding. */
  isSent: boolean
  sentAtMs: number
  readonly onAbort: () => void
}

/** How often the first in each line asks the database, because money also comes from other processes. */
const askEveryMs = 50

export type Waiters = Readonly<ReturnType<typeof createWaiters>>

/**
 * Creates the lines in front of accounts whose money is held. First come, first served: a small reservation
 * does not pass a large one, but gets an attempt of its own before its wait ends.
 */
export function createWaiters ({ options, timers, monotonic, reachNano }: WaitersContext) {
  const lines = new Map<string, Waiter[]>()
  const places = new Map<Waiter, Place>()
  let cancelTick: (() => void) | null = null
  let isClosed = false

  function enter (waiter: Waiter, account: string): void {
    const line = lines.get(account) ?? []
    lines.set(account, line)
    line.splice(line.findLastIndex(({ order }) => order < waiter.order) + 1, 0, waiter)
  }

  function leave (waiter: Waiter, account: string): void {
    const line = lines.get(account) ?? []
    line.splice(line.indexOf(waiter), 1)
    if (line.length === 0) lines.delete(account)
  }

  function move (waiter: Waiter, place: Place, account: string): void {
    leave(waiter, place.account)
    place.account = account
    enter(waiter, account)
  }

  function add (waiter: Waiter, account: string): boolean {
    const { maxWaitingForAccount, maxWaitingForMoney } = options
    const { length = 0 } = lines.get(account) ?? {}
    if (places.size >= maxWaitingForMoney || length >= maxWaitingForAccount) return false
    const onAbort = (): void => {
      if (places.get(waiter)?.isSent !== false) return
      remove(waiter)
      waiter.refuse(new UpstreamError('aborted', 'no', 'The request was aborted while waiting for held money.'))
    }
    waiter.signal?.addEventListener('abort', onAbort)
    places.set(waiter, { account, isSent: false, sentAtMs: monotonic(), onAbort })
    enter(waiter, account)
    cancelTick ??= timers.after(askEveryMs, tick)
    return true
  }

  function remove (waiter: Waiter): void {
    const place = places.get(waiter)
    if (place === undefined) return
    waiter.signal?.removeEventListener('abort', place.onAbort)
    leave(waiter, place.account)
    places.delete(waiter)
    if (places.size > 0) return serve(place.account)
    cancelTick?.()
    cancelTick = null
  }

  /** The first account of a chain whose money a reservation waits for that arrived before `order`. */
  function contested (chain: readonly string[], order = Infinity): string | undefined {
    return chain.find((account) => (lines.get(account)?.[0]?.order ?? Infinity) < order)
  }

  /** Attempts the first in a line, as far as the money within reach goes. */
  function serve (account: string, freedNano = 0): void {
    let leftNano = reachNano(account) + freedNano
    for (const waiter of [...lines.get(account) ?? []]) {
      leftNano -= waiter.amountNano
      if (leftNano < 0) return
      const place = places.get(waiter)
      if (place === undefined || place.isSent) continue
      const others = waiter.chain.filter((other) => other !== account)
      const other = contested(others, waiter.order)
      if (other === undefined) attempt(waiter)
      else move(waiter, place, other)
    }
  }

  function attempt (waiter: Waiter): void {
    const place = places.get(waiter)
    if (place === undefined || place.isSent) return
    if (waiter.grantFromMemory()) return remove(waiter)
    place.isSent = true
    place.sentAtMs = monotonic()
    waiter.sendToDatabase()
  }

  function tick (): void {
    cancelTick = timers.after(askEveryMs, tick)
    const nowMs = monotonic()
    // At most one a millisecond, however many accounts are short.
    const everyMs = Math.max(askEveryMs, lines.size)
    for (const [account, line] of [...lines]) {
      serve(account)
      const [first] = line
      for (const waiter of [...line]) {
        const isDue = waiter === first && nowMs - (places.get(waiter)?.sentAtMs ?? 0) >= everyMs
        if (isDue || waiter.giveUpAtMs <= nowMs) attempt(waiter)
      }
    }
  }

  return {
    /** The accounts for whose money reservations wait. */
    accounts: lines as ReadonlyMap<string, unknown>,
    get size () { return places.size },
    contested,
    remove,

    /**
     * Lets a reservation wait for an account's money, also after another attempt has failed. Returns false if
     * it has waited long enough or too many wait.
     */
    wait (waiter: Waiter, account: string): boolean {
      const isOver = isClosed || waiter.signal?.aborted === true || monotonic() >= waiter.giveUpAtMs
      const place = places.get(waiter)
      if (place === undefined) return !isOver && add(waiter, account)
      place.isSent = false
      if (isOver) remove(waiter)
      else if (place.account !== account) move(waiter, place, account)
      return !isOver
    },

    /** A hold of the chain has ended; `freedNano` is what only the next commit frees. */
    wake (chain: readonly string[], freedNano: number): void {
      for (const account of chain) serve(account, freedNano)
    },

    /** Refuses those that wait, and lets none wait from now on. */
    close (error: Error): void {
      isClosed = true
      for (const [waiter, { isSent }] of [...places]) {
        if (isSent) continue
        remove(waiter)
        waiter.refuse(error)
      }
    }
  }
}
