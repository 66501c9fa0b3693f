import { videoDefaults } from '../../../schemas/config/video.ts'
import type { VideoBlock, VideoEntry } from '../../../schemas/config/video.ts'
import type { VideoAbilities, VideoSettings } from '../../catalogue/types.ts'
import { readNano } from './prices.ts'
import type { YamlDocument } from '../yaml/document.ts'
import type { Path } from '../yaml/path.ts'

/** What the block `video` says, and the defaults for what it does not. */
export function readVideoSettings (block: VideoBlock = {}): VideoSettings {
  return {
    heartbeat: block.heartbeat ?? videoDefaults.heartbeat,
    heartbeatAfterMs: block.heartbeat_after_ms ?? videoDefaults.heartbeatAfterMs,
    heartbeatEveryMs: block.heartbeat_every_ms ?? videoDefaults.heartbeatEveryMs,
    maxHoldMs: block.max_hold_ms ?? videoDefaults.maxHoldMs,
    content: block.content ?? videoDefaults.content,
    onAmbiguous: block.on_ambiguous ?? videoDefaults.onAmbiguous,
    abandonAfterMs: block.abandon_after_ms ?? videoDefaults.abandonAfterMs,
    takeoverAfterMs: block.takeover_after_ms ?? videoDefaults.takeoverAfterMs,
    pollsPerSecond: block.polls_per_second ?? videoDefaults.pollsPerSecond
  }
}

/** What the file says a video model can do, else what is known of it. Reports prices that are wrong. */
export function readVideoAbilities (
  entry: VideoEntry, known: VideoAbilities | undefined, path: Path, document: YamlDocument
): VideoAbilities {
  const seconds = entry.seconds ?? known?.seconds ?? null
  const defaultSeconds = entry.default_seconds ?? known?.defaultSeconds ?? null
  if (entry.default_seconds !== undefined && seconds?.includes(entry.default_seconds) === false) {
    document.report([...path, 'default_seconds'], 'is none of the lengths it makes')
  }
  return {
    seconds,
    defaultSeconds,
    maxSeconds: entry.max_seconds ?? longest(entry.seconds) ?? known?.maxSeconds ?? longest(known?.seconds),
    sizes: entry.sizes ?? known?.sizes ?? null,
    aspectRatios: entry.aspect_ratios ?? known?.aspectRatios ?? null,
    audio: entry.audio ?? known?.audio ?? true,
    firstFrame: entry.first_frame ?? known?.firstFrame ?? null,
    lastFrame: entry.last_frame ?? known?.lastFrame ?? false,
    prices: (entry.prices ?? []).map(({ size = null, audio = null }, index) => ({
      size, audio, secondNano: readNano(document, [...path, 'prices', index, 'second']) ?? 0
    }))
  }
}

function longest (seconds: number[] | null = null): number | null {
  return seconds === null ? null : Math.max(...seconds)
}
