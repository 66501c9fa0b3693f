import type { ResponseRequest } from '../../../schemas/openai/responses.ts'
import { serverToolNames, type FieldPricing } from '../../config/catalogue/priced-fields.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { foldName } from '../../shared/request-fields.ts'
import type { NamedItem } from './to-messages.ts'

/** A tool that the provider runs, by the name that it has in prices and `allow_fields`. */
export interface ServerTool { name: string, param: string, members: readonly string[] }

/** Tools that the client runs, and searches among tools: they cost nothing but tokens. */
const clientTools: ReadonlySet<unknown> = new Set([
  'apply_patch', 'computer', 'computer_use', 'computer_use_preview', 'custom', 'function', 'local_shell', 'tool_search'
])

export const searchTool = 'web_search'
const pricedTools: ReadonlySet<string> = new Set(serverToolNames)
/** Others choose a search of another price. */
const searchMembers: ReadonlySet<string> = new Set([
  'type', 'external_web_access', 'filters', 'search_content_types', 'search_context_size', 'user_location'
])

/** The tools of a request that the provider runs, those that its items add included. */
export function serverToolsOf ({ tools }: ResponseRequest, items: readonly NamedItem[]): ServerTool[] {
  const found = serverToolsIn(tools, 'tools')
  for (const { item, param } of items) {
    // It repeats what the tools of a server are; the server itself is among the tools of the request.
    if (item.type === 'mcp_list_tools') continue
    found.push(...serverToolsIn(Reflect.get(item, 'tools'), `${param}.tools`))
  }
  return found
}

function serverToolsIn (tools: unknown, param: string): ServerTool[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown, at) => {
    if (!isObject(tool)) return []
    const place = `${param}[${at}]`
    if (tool.type === 'namespace') return serverToolsIn(tool.tools, `${place}.tools`)
    if (isRunByClient(tool)) return []
    return [{ name: toolName(tool.type), param: place, members: Object.keys(tool) }]
  })
}

/** A shell runs where its environment says. */
function isRunByClient ({ type, environment }: JsonObject): boolean {
  if (type === 'shell') return isObject(environment) && environment.type === 'local'
  return clientTools.has(type)
}

function toolName (type: unknown): string {
  return isText(type) ? type.slice(0, 64).replace(/^web_search_.*$/, searchTool) : 'unknown'
}

/** Where tools would run, and what a search costs there; null: it has no price. */
interface ToolSale { pricing: FieldPricing | undefined, searchNano: number | null, model: string }

/** Why a provider is not asked with tools that it runs; null: each has a price, or the operator allows it. */
export function toolRefusal (
  tools: readonly ServerTool[], { pricing, searchNano, model }: ToolSale
): GatewayError | null {
  for (const { name, param: place, members } of tools) {
    const param = `${place}.type`
    const isKnown = name === searchTool || pricedTools.has(name)
    if (!isKnown || pricing === undefined || pricing.fields.has(foldName(name))) {
      return GatewayError.unsupportedParameter(param, `The tool '${name}' changes what a request costs, and has no ` +
        `price for \`${model}\` on this gateway. The operator can allow it in gateway.yaml, under the provider: allow_fields: [${name}].`)
    }
    if (name !== searchTool) continue
    const odd = members.find(member => !searchMembers.has(member))
    if (odd !== undefined) {
      return GatewayError.unsupportedParameter(`${place}.${odd.slice(0, 64)}`, 'Searches with this setting have no price on this gateway.')
    }
    if (searchNano !== null) continue
    const message = `The model \`${model}\` has no price for the web searches of '${param}' on this gateway, so it is ` +
      'refused. The operator can set one in gateway.yaml, under the model: price: { search: … }.'
    return GatewayError.invalidRequest(message, { param, code: 'parameter_not_priced' })
  }
  return null
}

/** Throws GatewayError 400 for a file by its id, wherever in an item it stands: files belong to others. */
export function refuseFiles (items: readonly NamedItem[]): void {
  for (const { item, param } of items) refuseIn(item, param)
}

function refuseIn (value: unknown, param: string): void {
  if (Array.isArray(value)) return value.forEach((inner, at) => refuseIn(inner, `${param}[${at}]`))
  if (!isObject(value)) return
  if (isText(value.file_id)) {
    throw GatewayError.unsupportedParameter(`${param}.file_id`, 'Files by id are not served by this gateway; send their content.')
  }
  for (const name of ['output', 'content'] as const) refuseIn(value[name], `${param}.${name}`)
}
