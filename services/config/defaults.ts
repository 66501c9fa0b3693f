import { Value } from '@sinclair/typebox/value'
import { AlertsBlock } from '../../schemas/config/alerts.ts'
import { ConsoleBlock } from '../../schemas/config/console.ts'
import { BreakerEntry, RequestsEntry } from '../../schemas/config/requests.ts'
import { UsageBlock } from '../../schemas/config/usage.ts'
import { VideoBlock } from '../../schemas/config/video.ts'
import { toParsed } from './read/to-parsed.ts'

/** The blocks of an empty file. */
export const requestsDefaults = toParsed(RequestsEntry, Value.Default(RequestsEntry, {}))
export const breakerDefaults = toParsed(BreakerEntry, Value.Default(BreakerEntry, {}))
export const videoDefaults = toParsed(VideoBlock, Value.Default(VideoBlock, {}))
export const usageDefaults = toParsed(UsageBlock, Value.Default(UsageBlock, {}))
export const alertDefaults = toParsed(AlertsBlock, Value.Default(AlertsBlock, {}))
export const blockDefaults = {
  requests: requestsDefaults,
  breaker: breakerDefaults,
  video: videoDefaults,
  usage: usageDefaults,
  alerts: alertDefaults,
  aliases: [],
  console: toParsed(ConsoleBlock, Value.Default(ConsoleBlock, {}))
}
