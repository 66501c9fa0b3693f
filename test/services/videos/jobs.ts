import type { Job } from '../../../services/videos/job.ts'

/** A job as it is when its video was requested; `more` replaces fields. */
export function sampleJob (more: Partial<Job> = {}): Job {
  return {
    id: 'job_1',
    account: 'acme',
    apiKey: 'key',
    chain: ['acme'],
    tags: null,
    model: 'film',
    candidates: [{ provider: 'p', model: 'm' }],
    candidate: 0,
    dedupe: null,
    bodyHash: 'hash',
    task: {
      prompt: 'a ball', seconds: 4, size: { width: 1280, height: 720 }, isSizeAsked: false, aspectRatio: null, seed: null, audio: false, firstFrame: null, lastFrame: null
    },
    baseUrl: 'https://gateway.example/v1',
    state: 'submitting',
    owner: 'node',
    fence: 0,
    handle: null,
    progress: null,
    attempts: 1,
    deadlineAt: 2_000_000_000_000,
    hold: { id: 'job_1', chain: ['acme'], key: 'key', amountNano: 400 },
    secondNano: 100,
    seconds: 4,
    costNano: null,
    waiterLeftAt: null,
    delivered: false,
    cancel: false,
    videos: [],
    failure: null,
    createdAt: 1_900_000_000_000,
    submittedAt: null,
    finishedAt: null,
    expiresAt: null,
    ...more
  }
}

/** A job in which no field is empty or as it was at first. */
export const fullJob: Job = {
  id: 'job_2',
  account: 'acme',
  apiKey: 'other',
  chain: ['acme', 'budget'],
  tags: { project: 'ü' },
  model: 'ü/film',
  candidates: [{ provider: 'p', model: 'm' }, { provider: 'q', model: 'n' }],
  candidate: 1,
  dedupe: 'mine',
  bodyHash: 'other hash',
  task: {
    prompt: 'a "ball" 🎾\n',
    seconds: 4.8,
    size: { width: 1280, height: 720 },
    isSizeAsked: true,
    aspectRatio: '16:9',
    seed: 7,
    audio: false,
    firstFrame: 'data:image/png;base64,AA==',
    lastFrame: 'https://images.example/a.png'
  },
  baseUrl: 'https://other.example/v1',
  state: 'failed',
  owner: 'node',
  fence: 3,
  handle: 'handle',
  progress: 55,
  attempts: 2,
  deadlineAt: 2_000_000_000_001,
  hold: { id: 'job_2', chain: ['acme', 'budget'], key: 'other', amountNano: 9_000_000_000_000 },
  secondNano: 123_456_789_012,
  seconds: 4.8,
  costNano: 8_000_000_000_000,
  waiterLeftAt: 1_900_000_000_001,
  delivered: true,
  cancel: true,
  videos: [{ media: 'media_1', url: 'https://p.example/v.mp4', mime: 'video/mp4', seconds: 4.8, width: 1280, height: 720, expiresAt: 5 }],
  failure: { status: 400, type: 'invalid_request_error', code: 'moderated', param: 'messages', message: 'not this' },
  createdAt: 1_900_000_000_000,
  submittedAt: 1_900_000_000_002,
  finishedAt: 1_900_000_000_003,
  expiresAt: 1_900_000_000_004
}
