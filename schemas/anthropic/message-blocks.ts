import { Type, type Static } from '@sinclair/typebox'
import { ItemsOrString, MapOf, Nullable, StringEnum, Tagged } from '../shared/combinators.ts'

// Source: @anthropic-ai/sdk 1.12.0, resources/messages: ContentBlockParam. Objects are open:
// a provider of this protocol receives them unchanged.

export const CacheMark = Nullable(Type.Object({
  type: Type.Literal('ephemeral'),
  ttl: Type.Optional(StringEnum(['5m', '1h']))
}))

const marked = { cache_control: Type.Optional(CacheMark) }
const Citations = Type.Optional(Nullable(Type.Object({ enabled: Type.Optional(Type.Boolean()) })))

export const TextBlockParam = Type.Object({ type: Type.Literal('text'), text: Type.String(), ...marked })
export type TextBlockParam = Static<typeof TextBlockParam>

const UrlSource = Type.Object({ type: Type.Literal('url'), url: Type.String() })
const FileSource = Type.Object({ type: Type.Literal('file'), file_id: Type.String() })

export const ImageBlockParam = Type.Object({
  type: Type.Literal('image'),
  source: Tagged('type', [
    Type.Object({
      type: Type.Literal('base64'),
      media_type: StringEnum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: Type.String()
    }),
    UrlSource,
    FileSource
  ]),
  ...marked
})
export type ImageBlockParam = Static<typeof ImageBlockParam>

export const DocumentBlockParam = Type.Object({
  type: Type.Literal('document'),
  source: Tagged('type', [
    Type.Object({ type: Type.Literal('base64'), media_type: Type.Literal('application/pdf'), data: Type.String() }),
    Type.Object({ type: Type.Literal('text'), media_type: Type.Literal('text/plain'), data: Type.String() }),
    Type.Object({ type: Type.Literal('content'), content: ItemsOrString(Tagged('type', [TextBlockParam, ImageBlockParam])) }),
    UrlSource,
    FileSource
  ]),
  title: Type.Optional(Nullable(Type.String())),
  context: Type.Optional(Nullable(Type.String())),
  citations: Citations,
  ...marked
})
export type DocumentBlockParam = Static<typeof DocumentBlockParam>

export const SearchResultBlockParam = Type.Object({
  type: Type.Literal('search_result'),
  source: Type.String(),
  title: Type.String(),
  content: Type.Array(TextBlockParam),
  citations: Citations,
  ...marked
})
export type SearchResultBlockParam = Static<typeof SearchResultBlockParam>

const ToolUseBlockParam = Type.Object({
  type: Type.Literal('tool_use'), id: Type.String(), name: Type.String(), input: MapOf(Type.Unknown()), ...marked
})
export type ToolUseBlockParam = Static<typeof ToolUseBlockParam>

/** Blocks of Anthropic's server tools, which no other provider accepts. */
const toolResultKinds = ['tool_reference', 'browser_state'] as const
const ownKinds = [
  'server_tool_use', 'web_search_tool_result', 'web_fetch_tool_result', 'code_execution_tool_result',
  'bash_code_execution_tool_result', 'text_editor_code_execution_tool_result', 'tool_search_tool_result',
  'mcp_tool_use', 'mcp_tool_result', 'container_upload', 'compaction'
] as const

const ToolResultContent = Tagged('type', [
  TextBlockParam, ImageBlockParam, DocumentBlockParam, SearchResultBlockParam,
  Type.Object({ type: StringEnum(toolResultKinds) })
])
export type ToolResultContent = Static<typeof ToolResultContent>

const ToolResultBlockParam = Type.Object({
  type: Type.Literal('tool_result'),
  tool_use_id: Type.String(),
  content: Type.Optional(ItemsOrString(ToolResultContent)),
  is_error: Type.Optional(Nullable(Type.Boolean())),
  ...marked
})
export type ToolResultBlockParam = Static<typeof ToolResultBlockParam>

const ThinkingBlockParam = Type.Object({
  type: Type.Literal('thinking'), thinking: Type.String(), signature: Type.String()
})
export type ThinkingBlockParam = Static<typeof ThinkingBlockParam>

const RedactedThinkingBlockParam = Type.Object({ type: Type.Literal('redacted_thinking'), data: Type.String() })

/** A tool that a message of the role `system` adds or removes. */
const ToolChangeBlockParam = Type.Object({
  type: StringEnum(['tool_addition', 'tool_removal']),
  tool: Type.Object({
    type: Type.String(), name: Type.Optional(Type.String()), definition: Type.Optional(MapOf(Type.Unknown()))
  })
})
export type ToolChangeBlockParam = Static<typeof ToolChangeBlockParam>

const OwnBlockParam = Type.Object({ type: StringEnum(ownKinds) })

export const MessageBlockParam = Tagged('type', [
  TextBlockParam, ImageBlockParam, DocumentBlockParam, SearchResultBlockParam, ToolUseBlockParam,
  ToolResultBlockParam, ThinkingBlockParam, RedactedThinkingBlockParam, ToolChangeBlockParam, OwnBlockParam
])
export type MessageBlockParam = Static<typeof MessageBlockParam>
