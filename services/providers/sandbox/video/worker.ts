import { createRequire } from 'node:module'
import { parentPort } from 'node:worker_threads'
import type * as Encoder from 'h264-mp4-encoder'
import { createPainter } from './paint.ts'
import { readPicture } from './pictures.ts'
import { framesPerSecond, readScene } from './scene.ts'
import type { Scene } from './scene.ts'

/** A thread that makes videos of scenes and answers with their bytes, or with what went wrong as text. */

// Its module form cannot be imported: a bundle in CommonJS whose names are found only when it runs.
const { createH264MP4Encoder }: typeof Encoder = createRequire(import.meta.url)('h264-mp4-encoder')

parentPort?.on('message', (scene: Scene) => {
  make(scene).then(
    video => parentPort?.postMessage(video, [video.buffer]),
    error => parentPort?.postMessage(error instanceof Error ? error.message : String(error)))
})

async function make (scene: Scene): Promise<Uint8Array<ArrayBuffer>> {
  const { width, height, seconds, first, last } = scene
  const painter = createPainter(readScene(scene), {
    first: first === null ? null : await readPicture(first, width, height),
    last: last === null ? null : await readPicture(last, width, height)
  })
  const encoder = await createH264MP4Encoder()
  const quality = { quantizationParameter: 28, speed: 8, groupOfPictures: 30 }
  Object.assign(encoder, { width, height, frameRate: framesPerSecond, ...quality })
  encoder.initialize()
  const count = Math.round(seconds * framesPerSecond)
  for (let frame = 0; frame < count; frame++) {
    encoder.addFrameRgba(painter.frame(frame / Math.max(1, count - 1)))
  }
  encoder.finalize()
  const video = Buffer.from(encoder.FS.readFile(encoder.outputFilename))
  // All encoders of a thread share one memory.
  encoder.FS.unlink(encoder.outputFilename)
  encoder.delete()
  return withoutTimes(video)
}

/**
 * The same file as if it had been made at no time, so that the same scene gives the same bytes. Source: ISO
 * 14496-12; version 0 of these boxes has two times of 4 bytes behind its version and flags.
 */
function withoutTimes (video: Buffer<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  for (const box of ['mvhd', 'tkhd', 'mdhd']) {
    // They stand behind the pictures, in which the name may come up by chance.
    const at = video.lastIndexOf(box)
    video.fill(0, at + 8, at + 16)
  }
  return new Uint8Array(video)
}
