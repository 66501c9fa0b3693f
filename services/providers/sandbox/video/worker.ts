import { createRequire } from 'node:module'
import { parentPort } from 'node:worker_threads'
import type * as Encoder from 'h264-mp4-encoder'
import { createPainter } from './paint.ts'
import { readImage } from './read-image.ts'
import { framesPerSecond, drawScene, type Scene } from './scene.ts'

/** A worker that replies to a scene with the bytes of an MP4 file, or with an error message. */

// A CommonJS bundle without static exports; `import` does not find its names.
const { createH264MP4Encoder }: typeof Encoder = createRequire(import.meta.url)('h264-mp4-encoder')

parentPort?.on('message', (scene: Scene) => {
  encode(scene).then(
    video => parentPort?.postMessage(video, [video.buffer]),
    error => parentPort?.postMessage(error instanceof Error ? error.message : String(error)))
})

async function encode (scene: Scene): Promise<Uint8Array<ArrayBuffer>> {
  const { width, height, seconds, first, last } = scene
  const painter = createPainter(drawScene(scene), {
    first: first === null ? null : await readImage(first, width, height),
    last: last === null ? null : await readImage(last, width, height)
  })
  const encoder = await createH264MP4Encoder()
  const quality = { quantizationParameter: 28, speed: 8, groupOfPictures: 30 }
  Object.assign(encoder, { width, height, frameRate: framesPerSecond, ...quality })
  encoder.initialize()
  const count = Math.max(1, Math.round(seconds * framesPerSecond))
  for (let frame = 0; frame < count; frame++) {
    encoder.addFrameRgba(painter.frame(frame / Math.max(1, count - 1)))
  }
  encoder.finalize()
  const video = Buffer.from(encoder.FS.readFile(encoder.outputFilename))
  // All encoders of a thread share one file system.
  encoder.FS.unlink(encoder.outputFilename)
  encoder.delete()
  return withoutTimes(video)
}

/**
 * Zeroes the creation and modification times, so that the file is deterministic. In version 0 of these boxes
 * they are two 4-byte fields behind version and flags. Source: ISO 14496-12.
 */
function withoutTimes (video: Buffer<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  for (const box of ['mvhd', 'tkhd', 'mdhd']) {
    // The boxes follow the media data, which may contain the name by chance.
    const at = video.lastIndexOf(box)
    video.fill(0, at + 8, at + 16)
  }
  return new Uint8Array(video)
}
