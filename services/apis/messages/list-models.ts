import type { MessagesModel, MessagesModelPage, ModelsQuery } from '../../../schemas/anthropic/models.ts'
import type { Model } from '../../../schemas/openai/models.ts'

const defaultLimit = 20

/** A chat model as this API describes one. */
export function toMessagesModel (model: Model): MessagesModel {
  const { id, created, context_window: window, max_output_tokens: most, deprecated } = model
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: window ?? null,
    max_tokens: most ?? null,
    lifecycle: deprecated === true ? 'deprecated' : 'active'
  }
}

/** A page of the chat models: after or before a model, or the first one. */
export function pageOfModels (
  chat: readonly Model[], { limit, after_id: after, before_id: before }: ModelsQuery
): MessagesModelPage {
  const most = Number(limit ?? defaultLimit)
  const place = (id: string): number => chat.findIndex(model => model.id === id)
  const end = before === undefined || place(before) < 0 ? chat.length : place(before)
  const start = after !== undefined ? place(after) + 1 : before === undefined ? 0 : Math.max(0, end - most)
  const data = chat.slice(start, Math.min(end, start + most)).map(toMessagesModel)
  const hasMore = after === undefined && before !== undefined ? start > 0 : start + data.length < end
  return { data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: hasMore }
}
