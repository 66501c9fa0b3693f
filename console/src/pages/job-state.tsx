import type { JSX } from 'preact'
import type { AdminJob } from '../../../schemas/admin/jobs.ts'
import type { Received } from '../api/received.ts'
import { Badge, type Tone } from '../parts/badge.tsx'

export type KnownJob = Received<AdminJob>

/** The state of a job, with its progress while it runs. */
export function JobState ({ job: { state, progress } }: { job: KnownJob }): JSX.Element {
  return <Badge tone={tones[state]}>{state}{state === 'running' && progress !== null && ` ${Math.round(progress)} %`}</Badge>
}

const tones: Record<KnownJob['state'], Tone> = {
  submitting: 'quiet', queued: 'quiet', running: 'warn', storing: 'warn', succeeded: 'good', failed: 'bad', cancelled: 'quiet', expired: 'quiet'
}
