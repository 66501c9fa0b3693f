import { Type, type Static } from '@sinclair/typebox'
import { WebhookUrl } from './webhooks.ts'
import { MapOf, Nullable, StringEnum, StringOr } from '../shared/combinators.ts'

const Picture = StringOr(Type.Object({
  image_url: Type.String({ minLength: 1, description: 'An https URL, or a data URL.' })
}, { additionalProperties: false }), {
  minLength: 1,
  description: 'A picture: a file of a form, an https URL, a data URL of a PNG, JPEG, WebP or GIF, or `{image_url}`.'
})

/**
 * Body of `POST /v1/videos`, as JSON or as a form. Source: `openai` 7.55 on npm, `VideoCreateParams`;
 * `model` is required, because a gateway of many models has no default. The fields after `size` are
 * extensions of Tollgate. Unlisted fields are rejected: none may change the price unnoticed.
 */
export const VideoCreateRequest = Type.Object({
  model: Type.String({ minLength: 1 }),
  prompt: Type.String({ minLength: 1, maxLength: 32_000, pattern: '\\S' }),
  input_reference: Type.Optional(Picture),
  seconds: Type.Optional(Type.Unsafe<string | number>({
    type: ['string', 'number'],
    pattern: '^[1-9]\\d{0,3}$',
    minimum: 1,
    maximum: 3600,
    description: 'The default depends on the model.',
    examples: ['4']
  })),
  size: Type.Optional(Type.String({
    pattern: '^[1-9]\\d{1,4}x[1-9]\\d{1,4}$', description: 'In pixels. The default depends on the model.', examples: ['1280x720']
  })),
  last_frame: Type.Optional(Picture),
  aspect_ratio: Type.Optional(Type.String({ pattern: '^\\d{1,3}:\\d{1,3}$', examples: ['16:9'] })),
  seed: Type.Optional(Type.Integer()),
  audio: Type.Optional(Type.Boolean()),
  metadata: Type.Optional(Nullable(MapOf(Type.String()))),
  webhook_url: Type.Optional(WebhookUrl)
}, { additionalProperties: false })
export type VideoCreateRequest = Static<typeof VideoCreateRequest>

const PictureFile = Type.String({
  format: 'binary',
  description: 'A file: a PNG, JPEG, WebP or GIF. As text, the values of the JSON member; `{image_url}` is the field ' +
    '`<name>[image_url]`.'
})

/** The same body as a form, only for the OpenAPI document: a form is converted to JSON before validation. */
export const VideoForm = Type.Object({
  ...VideoCreateRequest.properties,
  input_reference: Type.Optional(PictureFile),
  last_frame: Type.Optional(PictureFile),
  metadata: Type.Optional(Type.Object({}, {
    additionalProperties: Type.String(), description: 'Each entry is a separate field: `metadata[<key>]`.'
  }))
}, { additionalProperties: false })

const VideoError = Type.Object({
  code: Type.String(),
  message: Type.String(),
  param: Nullable(Type.String()),
  type: Type.String()
})

const seconds = (description: string) => Nullable(Type.Integer({ description: `Unix seconds: ${description}` }))

/** A video job as shown to its client. Source: `openai` 7.55 on npm, `Video`. */
export const VideoObject = Type.Object({
  id: Type.String(),
  object: Type.Literal('video'),
  status: StringEnum(['queued', 'in_progress', 'completed', 'failed']),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  model: Type.String(),
  prompt: Nullable(Type.String()),
  seconds: Type.String({ description: 'The requested length.' }),
  size: Type.String(),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  completed_at: seconds('when it was completed or failed.'),
  expires_at: seconds('until when its content can be fetched.'),
  error: Nullable(VideoError),
  remixed_from_video_id: Nullable(Type.String()),
  usage: Nullable(Type.Object({ cost: Type.Number({ description: 'The charge in US dollars.' }) }))
}, {
  examples: [{
    id: 'job_0mwwxelgo7a67d65bd5a300c800000000',
    object: 'video',
    status: 'queued',
    progress: 0,
    model: 'sandbox-video',
    prompt: 'Waves break on a pier',
    seconds: '4',
    size: '1280x720',
    created_at: 1_795_253_400,
    completed_at: null,
    expires_at: null,
    error: null,
    remixed_from_video_id: null,
    usage: null
  }]
})
export type VideoObject = Static<typeof VideoObject>

/** Query of `GET /v1/videos`. Source: `openai` 7.55 on npm, `VideoListParams`. */
export const VideoListQuery = Type.Object({
  after: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'The `last_id` of the previous page.' })),
  limit: Type.Optional(Type.String({ pattern: '^([1-9]\\d?|100)$', description: 'From 1 to 100; 20 if absent.' })),
  order: Type.Optional(StringEnum(['asc', 'desc']))
}, { additionalProperties: false })

/** Response of `GET /v1/videos`. Source: `openai` 7.55 on npm, `ConversationCursorPage`. */
export const VideoList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(VideoObject),
  first_id: Nullable(Type.String({ examples: ['job_0mwwxelgo7a67d65bd5a300c800000000'] })),
  last_id: Nullable(Type.String({ examples: ['job_0mwwxelgo7a67d65bd5a300c800000000'] })),
  has_more: Type.Boolean()
})

/** Response of `DELETE /v1/videos/:id`. Source: `openai` 7.55 on npm, `VideoDeleteResponse`. */
export const VideoDeleted = Type.Object({
  id: Type.String({ examples: ['job_0mwwxelgo7a67d65bd5a300c800000000'] }),
  object: Type.Literal('video.deleted'),
  deleted: Type.Boolean()
})
