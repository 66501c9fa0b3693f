import type { VideoChoices } from '../provider-video.ts'

/** A row of models that many providers offer, by a part of their names; the first match applies. */
type Row = [model: RegExp, seconds: number, size: string, sound: VideoChoices['sound']]

const rows: readonly Row[] = [
  [/veo-?2/, 8, '1280x720', 'never'],
  [/veo/, 8, '1280x720', 'stated'],
  [/sora/, 4, '1280x720', 'always'],
  [/kling.*(v2[.-]6|v3|o3)/, 5, '1280x720', 'stated'],
  [/kling/, 5, '1280x720', 'never'],
  [/minimax|hailuo/, 6, '1366x768', 'never'],
  [/luma|\/ray/, 5, '1280x720', 'never'],
  [/seedance.*(v1|-1-?0?)[/-](pro|lite)/, 5, '1280x720', 'never'],
  [/ltx/, 6, '1920x1080', 'stated']
]

/**
 * What to state of a model at a provider of many makers' models. Source: the models' pages at fal and
 * Replicate, November 2026.
 */
export function usualChoices (model: string): VideoChoices {
  const [, seconds = 5, size = '1280x720', sound = 'stated' as const] = rows.find(([name]) => name.test(model)) ?? []
  return { seconds, size, sound }
}
