import t from 'tap'
import { completionOf } from '../../../services/videos/reply-video.ts'
import type { Job } from '../../../services/videos/job.ts'

const video = {
  media: 'm', url: null, mime: 'video/mp4', seconds: 2, width: 96, height: 54, expiresAt: 1_800_000_000_999
}
const job: Job = {
  id: 'job_1',
  account: 'a',
  apiKey: 'k',
  chain: ['a'],
  tags: null,
  model: 'film',
  candidates: [],
  candidate: 0,
  dedupe: null,
  bodyHash: '',
  task: { prompt: '', seconds: 4, size: { width: 1280, height: 720 }, isSizeAsked: false, aspectRatio: null, seed: null, audio: false, firstFrame: null, lastFrame: null },
  baseUrl: '',
  state: 'succeeded',
  owner: null,
  fence: 0,
  handle: null,
  progress: 100,
  attempts: 1,
  deadlineAt: 0,
  hold: null,
  secondNano: 1,
  seconds: 2,
  costNano: 12_345_678,
  waiterLeftAt: null,
  delivered: false,
  background: 0,
  cancel: false,
  videos: [video],
  failure: null,
  copyError: null,
  createdAt: 1_700_000_000_999,
  submittedAt: null,
  polledAt: null,
  finishedAt: null,
  deletedAt: null,
  expiresAt: null
}
const url = 'https://gateway.example/v1/media/m.mp4?exp=1&sig=a'

t.test('the address stands in the answer as the operator likes it', async t => {
  const contentOf = (form: 'url' | 'markdown' | 'html', count = 1) =>
    completionOf(job, Array.from({ length: count }, () => ({ video, url })), form).choices[0]?.message.content
  t.equal(contentOf('url'), url)
  t.equal(contentOf('url', 2), `${url}\n${url}`, 'one on a line')
  t.equal(contentOf('markdown'), `[video](${url})`)
  t.equal(contentOf('html'), '<video src="https://gateway.example/v1/media/m.mp4?exp=1&amp;sig=a" controls></video>')
})

t.test('beside it stands what a program needs', async t => {
  t.strictSame(completionOf(job, [{ video, url }], 'html'), {
    id: 'chatcmpl-job_1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'film',
    choices: [{
      index: 0,
      finish_reason: 'stop',
      logprobs: null,
      message: {
        role: 'assistant',
        content: '<video src="https://gateway.example/v1/media/m.mp4?exp=1&amp;sig=a" controls></video>',
        refusal: null,
        videos: [{
          type: 'video_url',
          video_url: { url },
          mime_type: 'video/mp4',
          duration_seconds: 2,
          width: 96,
          height: 54,
          expires_at: 1_800_000_000,
          job_id: 'job_1'
        }]
      }
    }],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost: 0.012345678 }
  })
})
