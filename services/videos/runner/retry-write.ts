import { retryOutage } from '../../store/retry-outage.ts'
import type { RunnerContext } from './runner-context.ts'

/** Retries a write of a job during an outage, because a provider may not send a response twice. */
export async function retryWrite<T> (
  { closing, log }: Pick<RunnerContext, 'closing' | 'log'>, id: string, write: () => Promise<T>
): Promise<T> {
  return await retryOutage(write, {
    isClosing: () => closing.aborted,
    onOutage: err => { log.warn({ job: id, err }, 'a job cannot be written') }
  })
}
