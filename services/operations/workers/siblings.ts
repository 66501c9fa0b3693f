import type { LoadCounts } from '../../http/load.ts'
import { GatewayError } from '../../shared/errors.ts'
import type { Link } from './link.ts'

/** What a worker asks its parent, for the node as a whole. Rejects with 503 if it gets no answer. */
export interface Siblings {
  metrics (): Promise<string>
  counts (): Promise<LoadCounts>
}

export function createSiblings (parent: Pick<Link, 'ask'>): Siblings {
  // The parent answers with what `name` is for.
  const call = async <Answer>(name: keyof Siblings): Promise<Answer> => {
    try {
      return await parent.ask(name) as Answer
    } catch (cause) {
      throw GatewayError.unavailable('The other workers of this node do not answer. Please try again.', { cause })
    }
  }
  return { metrics: () => call('metrics'), counts: () => call('counts') }
}
