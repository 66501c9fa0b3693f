import sharp, { type Sharp } from 'sharp'
import t from 'tap'
import { createPainter } from '../../../../services/providers/sandbox/video/paint.ts'
import { createSandboxVideos } from '../../../../services/providers/sandbox/video/videos.ts'
import { readImage } from '../../../../services/providers/sandbox/video/read-image.ts'
import { drawScene } from '../../../../services/providers/sandbox/video/scene.ts'
import type { VideoState, VideoTask } from '../../../../services/providers/provider-video.ts'
import { readMp4 } from '../../../../services/videos/runner/mp4.ts'

const { signal } = new AbortController()
const task: VideoTask = {
  model: 'sandbox-video',
  prompt: 'a red ball',
  seconds: 2,
  size: { width: 160, height: 90 },
  isSizeAsked: true,
  aspectRatio: null,
  seed: null,
  audio: false,
  firstFrame: null,
  lastFrame: null,
  submitKey: 'job'
}
const scene = { prompt: 'a red ball', seed: 0, seconds: 2, width: 64, height: 36, first: null, last: null }

t.test('renders an MP4 of the requested duration and size after the configured time', async t => {
  const videos = createSandboxVideos({ durationMs: 1_000_000 })
  const { handle } = await videos.submit(task, signal)
  // The handle is the complete state, so any process can poll the job.
  const after = (share: number) => createSandboxVideos({ durationMs: 0 }).poll(
    JSON.stringify({ ...JSON.parse(handle), startedAt: Date.now() - share * 1_000_000 }), signal)
  t.strictSame(await after(0), { state: 'queued', progress: 0 })
  t.strictSame(await after(0.5), { state: 'running', progress: 50 })
  const video = await videoOf(await after(1))
  t.equal(video.toString('latin1', 4, 8), 'ftyp')
  t.ok(video.includes('avc1'), 'H.264')
  const facts = await readMp4(video.length, async (start, end) => video.subarray(start, end + 1))
  t.strictSame(facts, { seconds: 2, width: 160, height: 90 })
})

t.test('reuses a worker without side effects on the next video', async t => {
  const videos = createSandboxVideos({ durationMs: 0 })
  const render = async (more: Partial<VideoTask>) =>
    await videoOf(await videos.poll((await videos.submit({ ...task, ...more }, signal)).handle, signal))
  const first = await render({})
  const large = await render({ size: { width: 320, height: 180 }, seconds: 1 })
  const facts = await readMp4(large.length, async (start, end) => large.subarray(start, end + 1))
  t.match(facts, { seconds: 1, width: 320 })
  t.ok(first.equals(await render({})), 'the same task gives the same bytes')
})

t.test('renders the same frames for the same prompt only', async t => {
  const frameOf = (more: Partial<typeof scene>) =>
    Buffer.from(createPainter(drawScene({ ...scene, ...more }), { first: null, last: null }).frame(0.5))
  const frame = frameOf({})
  t.ok(frame.equals(frameOf({})))
  for (const more of [{ prompt: 'a blue ball' }, { prompt: 'a red house' }, { seed: 1 }]) {
    t.notOk(frame.equals(frameOf(more)), JSON.stringify(more))
  }
  const isRed = (at: number) => (frame[at] ?? 0) === 220 && (frame[at + 1] ?? 0) === 40
  t.ok(Array.from({ length: frame.length / 4 }, (_, pixel) => pixel * 4).some(isRed), 'a red ball is red')
})

t.test('starts with the first frame and ends with the last', async t => {
  const filled = (r: number, g: number, b: number) =>
    sharp({ create: { width: 128, height: 90, channels: 3, background: { r, g, b } } })
  const base64 = async (image: Sharp) => (await image.toBuffer()).toString('base64')
  const first = await readImage(await base64(filled(250, 10, 10).png()), 64, 36)
  const last = await readImage(await base64(filled(10, 10, 250).jpeg({ quality: 95 })), 64, 36)
  const painter = createPainter(drawScene(scene), { first, last })
  t.strictSame([...painter.frame(0).subarray(0, 3)], [250, 10, 10])
  const [red = 0, , blue = 0] = painter.frame(1)
  t.ok(red < 30 && blue > 220)
  await t.rejects(readImage(Buffer.from('not an image').toString('base64'), 64, 36))
})

t.test('obeys directives in lines of the prompt', async t => {
  const videos = createSandboxVideos({ durationMs: 0 })
  await t.rejects(videos.submit({ ...task, prompt: 'a\nsandbox:error moderated' }, signal), /moderated/)
  const { handle } = await videos.submit({ ...task, prompt: 'a\nsandbox:fail 500\nsandbox:delay 0' }, signal)
  t.match(await videos.poll(handle, signal), { state: 'failed', error: { kind: 'bad_reply' } })
  const slow = await videos.submit({ ...task, prompt: 'a\nsandbox:delay 60000' }, signal)
  t.match(await videos.poll(slow.handle, signal), { state: 'queued' })
  const drawing = { bytes: Buffer.from('<svg/>'), mime: 'image/svg+xml' }
  await t.rejects(videos.submit({ ...task, firstFrame: drawing }, signal), /accepts PNG/)
})

async function videoOf (state: VideoState): Promise<Buffer> {
  if (state.state !== 'succeeded') throw new Error(state.state)
  const [file] = state.videos
  if (file === undefined || !('open' in file)) throw new Error('no video')
  return await (await file.open(signal)).read(10_000_000)
}
