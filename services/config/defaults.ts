import { Value } from '@sinclair/typebox/value'
import { BreakerEntry, RequestsEntry } from '../../schemas/config/requests.ts'
import { VideoBlock } from '../../schemas/config/video.ts'
import { toParsed } from './read/to-parsed.ts'

/** The blocks `requests`, `breaker` and `video` of an empty file. */
export const requestsDefaults = toParsed(RequestsEntry, Value.Default(RequestsEntry, {}))
export const breakerDefaults = toParsed(BreakerEntry, Value.Default(BreakerEntry, {}))
export const videoDefaults = toParsed(VideoBlock, Value.Default(VideoBlock, {}))
export const blockDefaults = { requests: requestsDefaults, breaker: breakerDefaults, video: videoDefaults }
