import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { VideoSize } from '../provider-video.ts'

/** The shipped films, named by their size in pixels: one for each size of `sandbox-video`. */
const shipped: readonly VideoSize[] = [
  { width: 640, height: 360 },
  { width: 360, height: 640 },
  { width: 480, height: 480 },
  { width: 320, height: 180 },
  { width: 1280, height: 720 }
]

/** Returns the film nearest in shape, then in size, as an MP4 that is shown at `size` and lasts `seconds`. */
export async function readFilm (size: VideoSize, seconds: number): Promise<Buffer> {
  const { width, height } = nearestTo(size)
  const film = await readFile(join(import.meta.dirname, 'films', `${width}x${height}.mp4`))
  showAt(film, size)
  playFor(film, seconds)
  return film
}

function nearestTo (size: VideoSize): VideoSize {
  const ratio = (one: number, other: number): number => Math.abs(Math.log(one / other))
  const distance = ({ width, height }: VideoSize): number =>
    1_000 * ratio(width / height, size.width / size.height) + ratio(width, size.width)
  return shipped.reduce((nearest, film) => distance(film) < distance(nearest) ? film : nearest)
}

// The boxes below are of version 0, and follow the media data (ISO/IEC 14496-12).

/** Sets the size at which players show the track, in 16.16 fixed point. */
function showAt (film: Buffer, { width, height }: VideoSize): void {
  const header = film.lastIndexOf('tkhd')
  film.writeUInt32BE(width * 2 ** 16, header + 80)
  film.writeUInt32BE(height * 2 ** 16, header + 84)
}

/** Sets how many units of the unchanged duration make a second, for the movie and for its track. */
function playFor (film: Buffer, seconds: number): void {
  for (const box of ['mvhd', 'mdhd']) {
    const header = film.lastIndexOf(box)
    const duration = film.readUInt32BE(header + 20)
    film.writeUInt32BE(Math.round(duration / seconds), header + 16)
  }
}
