import { createPollRate, type PollRate } from './poll-rate.ts'
import { createTurns, type Turns } from './turns.ts'

interface Lane<Item> { rate: PollRate, turns: Turns<Item>, timer: NodeJS.Timeout | null }
interface Polled { account: string, apiKey: string }

/**
 * Creates the queues of jobs that are due for a poll, one per provider. Accounts take turns, and their keys
 * within them, so that one with thousands of jobs does not delay the others. The jobs of a key are polled in
 * the order in which they became due.
 */
export function createPollLanes<Item extends Polled> (perSecond: () => number, poll: (item: Item) => void) {
  const lanes = new Map<string, Lane<Item>>()

  function laneOf (provider: string): Lane<Item> {
    const lane = lanes.get(provider) ?? { rate: createPollRate(), turns: createTurns<Item>(), timer: null }
    lanes.set(provider, lane)
    return lane
  }

  function run (lane: Lane<Item>): void {
    lane.timer = null
    while (lane.turns.size > 0) {
      const waitMs = lane.rate.take(performance.now(), perSecond())
      if (waitMs > 0) {
        lane.timer = setTimeout(run, Math.ceil(waitMs), lane).unref()
        return
      }
      const item = lane.turns.take()
      if (item !== undefined) poll(item)
    }
  }

  return {
    /** Polls an item as soon as it is its turn. */
    add (provider: string, item: Item): void {
      const lane = laneOf(provider)
      lane.turns.add([item.account, item.apiKey], item)
      // With all others that are due at this moment.
      lane.timer ??= setTimeout(run, 0, lane).unref()
    },
    delete (item: Item): void {
      for (const { turns } of lanes.values()) turns.delete([item.account, item.apiKey], item)
    },
    /** Slows down because the provider has refused a poll as one too many. */
    refuse (provider: string): void { laneOf(provider).rate.refuse(performance.now(), perSecond()) },
    stop (): void {
      for (const { timer } of lanes.values()) clearTimeout(timer ?? undefined)
      lanes.clear()
    }
  }
}
