import { readFileSync } from 'node:fs'
import { usualChoices } from '../video-jobs/choices.ts'
import { commonAspectRatios, type ResolutionName } from '../video-jobs/fields.ts'
import type { VideoChoices } from '../provider-video.ts'

/** The fields of one of fal's video models. */
export interface FalModel {
  /** Names of the first and of the last frame. */
  frames: readonly string[]
  /** How many pictures it needs. */
  needs: number
  needsText: boolean
  /** The usual length. */
  seconds: number
  /** All lengths there are; null: any in a range. */
  lengths: readonly number[] | null
  /** How the length is stated; `none`: there is one only. */
  unit: 'text' | 's' | 'number' | 'none'
  resolutions: readonly ResolutionName[]
  /** The resolution of a model without a field for it. */
  fixed: ResolutionName | null
  /** Null: the video has the shape of its picture, or 16:9. */
  ratios: readonly string[] | null
  /** The name of the field; or whether every video has sound. */
  sound: string
  seed: boolean
}

const unstated: FalModel = {
  frames: [],
  needs: 0,
  needsText: true,
  seconds: 5,
  lengths: null,
  unit: 'text',
  resolutions: [],
  fixed: null,
  ratios: null,
  sound: 'never',
  seed: false
}

let known: ReadonlyMap<string, FalModel> | undefined

/** The fields of a model as fal's client declares them; else as models of its family have them. */
export function fieldsOf (name: string): FalModel {
  known ??= readModels()
  return known.get(name) ?? guess(name)
}

/** The names of the models that fal's client declares. */
export function declaredVideos (): string[] {
  known ??= readModels()
  return [...known.keys()]
}

function readModels (): ReadonlyMap<string, FalModel> {
  const text = readFileSync(new URL('models.json', import.meta.url), 'utf8')
  const { models }: { models: Record<string, Partial<FalModel>> } = JSON.parse(text)
  return new Map(Object.entries(models).map(([name, row]) => [name, { ...unstated, ...row }]))
}

interface Family extends Partial<FalModel> { model: RegExp }

/** Families of models, for those that the client does not declare; the first match applies. */
const families: readonly Family[] = [
  {
    model: /veo.*first-last-frame/,
    unit: 's',
    resolutions: ['720p', '1080p', '4k'],
    frames: ['first_frame_url', 'last_frame_url']
  },
  { model: /veo/, unit: 's', resolutions: ['720p', '1080p', '4k'] },
  { model: /luma/, unit: 's', resolutions: ['540p', '720p', '1080p'], seed: false },
  { model: /sora/, unit: 'number', resolutions: ['720p', '1080p'], seed: false },
  { model: /ltx/, unit: 'number', resolutions: ['1080p', '1440p', '2160p'], seed: false },
  { model: /grok/, unit: 'number', resolutions: ['480p', '720p', '1080p'], sound: 'always', seed: false },
  ...klingFamilies(/v2\.6|v3/, ['start_image_url', 'end_image_url']),
  ...klingFamilies(/o1/, ['start_image_url', 'end_image_url']),
  ...klingFamilies(/o3/, ['image_url', 'end_image_url']),
  ...klingFamilies(/(?:)/, ['image_url', 'tail_image_url']),
  { model: /hailuo.*pro/, fixed: '1080p', ratios: null, seed: false },
  { model: /hailuo|minimax/, fixed: '768p', ratios: null, seed: false }
]

/** Kling's tier is a part of the path, and its image-to-video has no aspect ratio. */
function klingFamilies (version: RegExp, frames: readonly string[]): Family[] {
  const of = (rest: string) => new RegExp(`kling.*(${version.source})${rest}`)
  return [
    { model: of('.*(pro|master).*image-to-video'), frames, fixed: '1080p', ratios: null, seed: false },
    { model: of('.*(pro|master)'), frames, fixed: '1080p', seed: false },
    { model: of('.*image-to-video'), frames, fixed: '720p', ratios: null, seed: false },
    { model: of(''), frames, fixed: '720p', seed: false }
  ]
}

function guess (name: string): FalModel {
  const { sound, seconds } = usualChoices(name)
  const { model, ...family } = families.find(({ model }) => model.test(name)) ?? { model: null }
  return {
    ...unstated,
    frames: ['image_url', 'end_image_url'],
    needsText: false,
    seconds,
    resolutions: ['480p', '720p', '1080p', '4k'],
    ratios: commonAspectRatios,
    sound: sound === 'stated' ? 'generate_audio' : sound,
    seed: true,
    ...family
  }
}

const sizes: Partial<Record<ResolutionName, string>> = {
  '512p': '912x512', '512P': '912x512', '720p': '1280x720', '768p': '1366x768', '768P': '1366x768', '1080p': '1920x1080'
}

/** What is stated of a model by default: 720p, or the least above it. */
export function falChoices (name: string): VideoChoices {
  const { seconds, resolutions, fixed, sound } = fieldsOf(name)
  const usual = (['720p', '768p', '768P', '1080p'] as const).find(one => resolutions.includes(one))
  return {
    seconds,
    size: sizes[fixed ?? usual ?? '720p'] ?? '1280x720',
    sound: sound === 'always' || sound === 'never' ? sound : 'stated'
  }
}
