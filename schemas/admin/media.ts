import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, ListOf, Paging } from './shared.ts'
import { Nullable, StringEnum } from '../shared/combinators.ts'

export const mediaKinds = ['image', 'video'] as const

/** An image or video that the gateway keeps. */
export const AdminMedia = Type.Object({
  object: Type.Literal('media'),
  id: Type.String({ examples: ['786a8f065ec1f7d30d58a9c178170d2a'] }),
  kind: StringEnum(mediaKinds),
  mime_type: Type.String({ examples: ['image/png'] }),
  account: Type.String(),
  job: Nullable(Type.String({ description: 'The video job that generated it.' })),
  bytes: Type.Integer({ examples: [78_670] }),
  width: Nullable(Type.Integer()),
  height: Nullable(Type.Integer()),
  created_at: Type.String(),
  expires_at: Type.String(),
  url: Type.String({
    description: 'A signed URL: it needs no key and is valid until `expires_at`.',
    examples: ['https://tollgate.example.com/v1/media/786a8f065ec1f7d30d58a9c178170d2a.png?exp=1795858240&sig=oH7iw15lTnNM']
  })
})
export type AdminMedia = Static<typeof AdminMedia>

export const AdminMediaList = ListOf(AdminMedia)

/** Query of `GET /admin/media`. */
export const MediaQuery = Closed({
  ...Paging,
  account: Type.Optional(Id),
  kind: Type.Optional(StringEnum(mediaKinds))
})
