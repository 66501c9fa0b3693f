import t from 'tap'
import { sandboxModels } from '../../../../services/config/sandbox.ts'
import { createSandboxVideos } from '../../../../services/providers/sandbox/videos.ts'
import type { VideoState, VideoTask } from '../../../../services/providers/provider-video.ts'
import { readMp4 } from '../../../../services/videos/runner/read-mp4.ts'

const { signal } = new AbortController()
const task: VideoTask = {
  model: 'sandbox-video',
  prompt: 'a red ball',
  seconds: 2,
  size: { width: 320, height: 180 },
  isSizeAsked: true,
  aspectRatio: null,
  seed: null,
  audio: false,
  firstFrame: null,
  lastFrame: null,
  submitKey: 'job'
}

t.test('delivers an MP4 of the ordered length and size after the configured time', async t => {
  const videos = createSandboxVideos({ durationMs: 1_000_000 })
  const { handle } = await videos.submit(task, signal)
  // The handle is the complete state, so any process can poll the job.
  const after = (share: number) => createSandboxVideos({ durationMs: 0 }).poll(
    JSON.stringify({ ...JSON.parse(handle), startedAt: Date.now() - share * 1_000_000 }), signal)
  t.strictSame(await after(0), { state: 'queued', progress: 0 })
  t.strictSame(await after(0.5), { state: 'running', progress: 50 })
  const done = await after(1)
  t.match(done, { state: 'succeeded', seconds: 2 })
  const film = await filmOf(done)
  t.equal(film.toString('latin1', 4, 8), 'ftyp')
  t.ok(film.includes('avc1'), 'H.264')
  t.strictSame(await factsOf(film), { seconds: 2, width: 320, height: 180 })
  t.strictSame(mediaOf(film), { seconds: 2, width: 320, height: 180 }, 'the track and its pixels too')
})

t.test('has a film for every size and length of its model', async t => {
  const { video } = sandboxModels('sandbox').find(({ kind }) => kind === 'video') ?? {}
  for (const name of video?.sizes ?? []) {
    const [width = 0, height = 0] = name.split('x').map(Number)
    for (const seconds of video?.seconds ?? []) {
      const film = await make({ seconds, size: { width, height } })
      t.strictSame(await factsOf(film), { seconds, width, height })
      t.strictSame(mediaOf(film), { seconds, width, height })
      t.ok(film.length < 150_000)
    }
  }
})

t.test('delivers the film nearest in shape for any other size', async t => {
  const cases = [[64, 36, 320], [90, 160, 360], [1024, 1024, 480], [1920, 1080, 1280]] as const
  for (const [width, height, film] of cases) {
    const bytes = await make({ size: { width, height } })
    t.strictSame(await factsOf(bytes), { seconds: 2, width, height })
    t.equal(mediaOf(bytes).width, film)
  }
})

t.test('keeps no pictures in a handle', async t => {
  const picture = { bytes: Buffer.alloc(100_000), mime: 'image/png' }
  const withPictures = { ...task, firstFrame: picture, lastFrame: picture }
  const { handle } = await createSandboxVideos({}).submit(withPictures, signal)
  t.ok(handle.length < 200)
})

t.test('obeys directives in lines of the prompt', async t => {
  const videos = createSandboxVideos({ durationMs: 0 })
  await t.rejects(videos.submit({ ...task, prompt: 'a\nsandbox:error moderated' }, signal), /moderated/)
  const { handle } = await videos.submit({ ...task, prompt: 'a\nsandbox:fail 500\nsandbox:delay 0' }, signal)
  t.match(await videos.poll(handle, signal), { state: 'failed', error: { kind: 'bad_reply' } })
  const slow = await videos.submit({ ...task, prompt: 'a\nsandbox:delay 60000' }, signal)
  t.match(await videos.poll(slow.handle, signal), { state: 'queued' })
  await t.rejects(videos.poll('{}', signal), /no such job/)
})

async function make (more: Partial<VideoTask>): Promise<Buffer> {
  const videos = createSandboxVideos({ durationMs: 0 })
  const { handle } = await videos.submit({ ...task, ...more }, signal)
  return await filmOf(await videos.poll(handle, signal))
}

async function filmOf (state: VideoState): Promise<Buffer> {
  if (state.state !== 'succeeded') throw new Error(state.state)
  const [file] = state.videos
  if (file === undefined || !('open' in file)) throw new Error('no video')
  return await (await file.open(signal)).read(10_000_000)
}

const factsOf = async (film: Buffer) =>
  await readMp4(film.length, async (start, end) => film.subarray(start, end + 1))

/** The length of the track, and the size of its pixels. */
function mediaOf (film: Buffer) {
  const header = film.lastIndexOf('mdhd')
  const sample = film.lastIndexOf('avc1')
  return {
    seconds: film.readUInt32BE(header + 20) / film.readUInt32BE(header + 16),
    width: film.readUInt16BE(sample + 28),
    height: film.readUInt16BE(sample + 30)
  }
}
