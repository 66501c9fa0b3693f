import type { CreateMessageRequest, MessageTool } from '../../../schemas/anthropic/messages.ts'
import { isObject } from '../../shared/json.ts'

type Conversation = Pick<CreateMessageRequest, 'messages' | 'tool_choice' | 'tools'>

/** A tool of Anthropic's, with its place in a request. */
export interface OwnTool { type: string, name: string | undefined, param: string }

/** Tools that Claude knows and the client runs, and searches among tools: they cost nothing but tokens. */
const clientTools = /^(bash|text_editor|memory|computer|tool_search_tool_bm25|tool_search_tool_regex)_\d{8}$/
/** Searches whose number is in the usage. */
const searchTools = /^web_search_\d{8}$/

export const isSearchTool = ({ type }: Pick<OwnTool, 'type'>): boolean => searchTools.test(type)
/** Whether the cost of a tool is counted. */
export const isPriced = (tool: Pick<OwnTool, 'type'>): boolean => isSearchTool(tool) || clientTools.test(tool.type)
/** Whether a tool is one of the client, with its schema. */
export const isClientTool = ({ type }: MessageTool): boolean => type == null || type === 'custom'

/** Anthropic's tools among those of a request, which other providers lack. */
function ownToolsOf ({ tools = [] }: Conversation): OwnTool[] {
  return tools.flatMap((tool, at) =>
    isClientTool(tool) ? [] : [{ type: String(tool.type), name: tool.name, param: `tools[${at}]` }])
}

/**
 * Anthropic's tools of a request: those that it demands, because its choice names them or leaves no other, or
 * because the conversation has used them, and those that it only offers.
 */
export function ownTools (request: Conversation): { demanded: OwnTool[], offered: OwnTool[] } {
  const own = ownToolsOf(request)
  if (own.length === 0) return { demanded: [], offered: [] }
  const { tool_choice: choice, tools = [], messages } = request
  const leavesNoOther = choice?.type === 'any' && own.length === tools.length
  const used = usedTools(messages)
  const { demanded = [], offered = [] } = Object.groupBy(own, ({ name = '' }) => {
    const isNamed = choice?.type === 'tool' && choice.name === name
    return leavesNoOther || isNamed || used === 'any' || used.has(name) ? 'demanded' : 'offered'
  })
  return { demanded, offered }
}

/** The names of the tools that a conversation has called; any, if Anthropic has run one. */
function usedTools (messages: CreateMessageRequest['messages']): 'any' | ReadonlySet<string> {
  const names = new Set<string>()
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const block of content) {
      if (isObject(block) && block.type === 'server_tool_use') return 'any'
      if (block.type === 'tool_use') names.add(block.name)
    }
  }
  return names
}
