import { createHash } from 'node:crypto'
import type { ResponseTool } from '../../../schemas/openai/response-tools.ts'
import { isClientSearch, toolSearchName } from './tool-search.ts'

/** What the client calls a tool. */
export interface ToolName { kind: 'function' | 'custom' | 'search', name: string, namespace?: string }

/** Each tool by its name in the chat request. */
export type ToolNames = ReadonlyMap<string, ToolName>

/** The longest name that every provider takes. */
const maxName = 64

/** The name of a tool in a chat request: chat knows no namespaces. */
export function chatToolName (name: string, namespace: string | null | undefined): string {
  if (namespace == null || namespace === '') return name
  const full = `${namespace}__${name}`
  if (full.length <= maxName) return full
  const digest = createHash('sha256').update(full).digest('hex').slice(0, 8)
  return `${full.slice(0, maxName - digest.length - 1)}_${digest}`
}

/** The names of the tools of a request. */
export function toolNames (tools: readonly ResponseTool[]): ToolNames {
  const names = new Map<string, ToolName>()
  for (const tool of tools) {
    if (tool.type === 'function' || tool.type === 'custom') names.set(tool.name, { kind: tool.type, name: tool.name })
    if (isClientSearch(tool)) names.set(toolSearchName, { kind: 'search', name: toolSearchName })
    if (tool.type !== 'namespace') continue
    for (const { type, name } of tool.tools) {
      names.set(chatToolName(name, tool.name), { kind: type, name, namespace: tool.name })
    }
  }
  return names
}
