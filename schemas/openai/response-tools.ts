import { Type, type Static } from '@sinclair/typebox'
import { MapOf, Nullable, StringEnum, StringEnumOr, Tagged } from '../shared/combinators.ts'

// Source: openai@7.55.0 resources/responses/responses.d.ts, Tool and tool_choice.

const Name = Type.String({ minLength: 1 })

const ResponseFunctionTool = Type.Object({
  type: Type.Literal('function'),
  name: Name,
  description: Type.Optional(Nullable(Type.String())),
  parameters: Type.Optional(Nullable(MapOf(Type.Unknown()))),
  strict: Type.Optional(Nullable(Type.Boolean())),
  defer_loading: Type.Optional(Nullable(Type.Boolean()))
})
export type ResponseFunctionTool = Static<typeof ResponseFunctionTool>

const ResponseCustomTool = Type.Object({
  type: Type.Literal('custom'),
  name: Name,
  description: Type.Optional(Nullable(Type.String())),
  format: Type.Optional(Tagged('type', [
    Type.Object({ type: Type.Literal('text') }),
    Type.Object({
      type: Type.Literal('grammar'), definition: Type.String(), syntax: StringEnum(['lark', 'regex'])
    })
  ]))
})
export type ResponseCustomTool = Static<typeof ResponseCustomTool>

/** Tools under one name, which calls repeat as their `namespace`. */
const NamespaceTool = Type.Object({
  type: Type.Literal('namespace'),
  name: Name,
  description: Type.Optional(Nullable(Type.String())),
  tools: Type.Array(Tagged('type', [ResponseFunctionTool, ResponseCustomTool]))
})

/** The search among tools; the client runs it if `execution` is `client`. */
const ToolSearchTool = Type.Object({
  type: Type.Literal('tool_search'),
  execution: Type.Optional(Nullable(StringEnum(['server', 'client']))),
  description: Type.Optional(Nullable(Type.String())),
  parameters: Type.Optional(Nullable(MapOf(Type.Unknown())))
})
export type ToolSearchTool = Static<typeof ToolSearchTool>

/** Tools that the provider runs, or that only its API supports. */
export const builtInTools = [
  'apply_patch', 'code_interpreter', 'computer', 'computer_use', 'computer_use_preview', 'file_search',
  'image_generation', 'local_shell', 'mcp', 'programmatic_tool_calling', 'shell', 'web_search', 'web_search_2025_08_26',
  'web_search_preview', 'web_search_preview_2025_03_11'
] as const
const BuiltInTool = Type.Object({ type: StringEnum(builtInTools) })

export const ResponseTool = Tagged('type', [
  ResponseFunctionTool, ResponseCustomTool, NamespaceTool, ToolSearchTool, BuiltInTool
])
export type ResponseTool = Static<typeof ResponseTool>

export const ResponseToolChoice = StringEnumOr(['none', 'auto', 'required'], Tagged('type', [
  Type.Object({ type: Type.Literal('function'), name: Name }),
  Type.Object({ type: Type.Literal('custom'), name: Name }),
  Type.Object({ type: Type.Literal('tool_search') }),
  Type.Object({
    type: Type.Literal('allowed_tools'),
    mode: StringEnum(['auto', 'required']),
    tools: Type.Array(Type.Object({ type: Type.String(), name: Type.Optional(Type.String()) }))
  }),
  BuiltInTool
]))
export type ResponseToolChoice = Static<typeof ResponseToolChoice>
