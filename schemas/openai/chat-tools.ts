import { Type, type Static } from '@sinclair/typebox'
import { MapOf, Nullable, StringEnum, StringEnumOr, Tagged } from '../shared/combinators.ts'

const JsonSchema = MapOf(Type.Unknown())

export const FunctionTool = Type.Object({
  type: Type.Literal('function'),
  function: Type.Object({
    name: Type.String(),
    description: Type.Optional(Type.String()),
    parameters: Type.Optional(JsonSchema),
    strict: Type.Optional(Nullable(Type.Boolean()))
  })
})
export type FunctionTool = Static<typeof FunctionTool>

const CustomToolFormat = Tagged('type', [
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({
    type: Type.Literal('grammar'),
    grammar: Type.Object({ definition: Type.String(), syntax: StringEnum(['lark', 'regex']) })
  })
])

export const CustomTool = Type.Object({
  type: Type.Literal('custom'),
  custom: Type.Object({
    name: Type.String(),
    description: Type.Optional(Type.String()),
    format: Type.Optional(CustomToolFormat)
  })
})
export type CustomTool = Static<typeof CustomTool>

export const Tool = Tagged('type', [FunctionTool, CustomTool])
export type Tool = Static<typeof Tool>

const Named = Type.Object({ name: Type.String() })

export const ToolChoice = StringEnumOr(['none', 'auto', 'required'], Tagged('type', [
  Type.Object({ type: Type.Literal('function'), function: Named }),
  Type.Object({ type: Type.Literal('custom'), custom: Named }),
  Type.Object({
    type: Type.Literal('allowed_tools'),
    allowed_tools: Type.Object({
      mode: StringEnum(['auto', 'required']),
      tools: Type.Array(MapOf(Type.Unknown()))
    })
  })
]))
export type ToolChoice = Static<typeof ToolChoice>

/** The predecessor of tools, which old clients still send. */
export const FunctionDefinition = Type.Object({
  name: Type.String(),
  description: Type.Optional(Type.String()),
  parameters: Type.Optional(JsonSchema)
})
export type FunctionDefinition = Static<typeof FunctionDefinition>

export const FunctionCallChoice = StringEnumOr(['none', 'auto'], Named)
export type FunctionCallChoice = Static<typeof FunctionCallChoice>

export const ResponseFormat = Tagged('type', [
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object') }),
  Type.Object({
    type: Type.Literal('json_schema'),
    json_schema: Type.Object({
      name: Type.String(),
      description: Type.Optional(Type.String()),
      schema: Type.Optional(JsonSchema),
      strict: Type.Optional(Nullable(Type.Boolean()))
    })
  })
])
export type ResponseFormat = Static<typeof ResponseFormat>
