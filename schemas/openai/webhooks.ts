import { Type, type Static } from '@sinclair/typebox'
import { StringEnum } from '../shared/combinators.ts'

/** The field `webhook_url` of requests for videos that run in the background. */
export const WebhookUrl = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'An HTTPS URL with a public address. It receives a signed message when the video is completed or has failed.',
  examples: ['https://app.example.com/hooks/videos']
})

/**
 * A webhook message. Source: `openai` 7.55 on npm, `resources/webhooks`.
 */
export const VideoEvent = Type.Object({
  object: Type.Literal('event'),
  id: Type.String({ description: 'Equal to the header `webhook-id` and the same in all attempts.' }),
  type: StringEnum(['video.completed', 'video.failed']),
  created_at: Type.Integer({ description: 'Unix seconds: when the video was completed or failed.' }),
  data: Type.Object({ id: Type.String({ description: 'The id of the video, for `GET /v1/videos/{id}`.' }) })
})
export type VideoEvent = Static<typeof VideoEvent>
