import type { ResponseInputItem, ToolSearchItem } from '../../../schemas/openai/response-items.ts'
import type { ResponseTool, ToolSearchTool } from '../../../schemas/openai/response-tools.ts'

// A search among tools that the client runs: the model calls it like a function, and the client answers with
// tools that may be called from then on.

/** The name of the search in a chat request. */
export const toolSearchName = 'tool_search'

/** Whether a tool is a search that the client runs. */
export function isClientSearch (tool: ResponseTool): tool is ToolSearchTool {
  return tool.type === 'tool_search' && tool.execution === 'client'
}

type ClientItem<Item> = Item & { call_id: string }

/** Whether an item belongs to a search that the client runs; those of others have no id of a call. */
export function isClientSearchItem<Item extends ToolSearchItem> (item: Item): item is ClientItem<Item> {
  return item.execution !== 'server' && item.call_id != null && item.call_id !== ''
}

/** A tool that an item adds, with its name in error messages. */
export interface FoundTool { tool: ResponseTool, param: string }

/** The tools that searches of the client have found, and those of items that add tools. */
export function foundTools (items: readonly { item: ResponseInputItem, param: string }[]): FoundTool[] {
  return items.flatMap(({ item, param }) => {
    const adds = item.type === 'additional_tools' || (item.type === 'tool_search_output' && isClientSearchItem(item))
    if (!adds) return []
    return item.tools.map((tool, at) => ({ tool, param: `${param}.tools[${at}]` }))
  })
}
