import type { LoadCounts } from '../../http/load.ts'
import { GatewayError } from '../../shared/errors.ts'
import type { Link } from './link.ts'

/** The calls of a worker to its parent about the whole node. Rejects with 503 without a response. */
export interface Siblings {
  metrics (): Promise<string>
  counts (): Promise<LoadCounts>
}

export function createSiblings (parent: Pick<Link, 'call'>): Siblings {
  // The type of the response is agreed by name.
  const call = async <Result>(name: keyof Siblings): Promise<Result> => {
    try {
      return await parent.call(name) as Result
    } catch (cause) {
      throw GatewayError.unavailable('The other workers of this node do not respond. Please try again.', { cause })
    }
  }
  return { metrics: () => call('metrics'), counts: () => call('counts') }
}
