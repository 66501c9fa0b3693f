import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TSchema } from '@sinclair/typebox'
import ts from 'typescript'
import { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from '../schemas/openai/chat-completions.ts'
import { ImageGenerationRequest } from '../schemas/openai/images-generations.ts'
import { configJsonSchema } from '../services/config/json-schema.ts'

// Declares the types of the package: those of its modules that apps see, and by their schemas those of
// gateway.yaml and of the bodies that plugins get.

const root = join(import.meta.dirname, '..')

const lib = [
  'index.ts', 'options.ts', 'testing.ts',
  'testing/steps.ts', 'testing/test-gateway.ts', 'testing/types.ts', 'testing/use-tollgate.ts'
].map(name => `lib/${name}`)

/** They import types only of each other, of packages and of the modules in `wire`. */
const declared = [...lib, 'services/extensions/provider-types.ts', 'services/extensions/types.ts']

/** The bodies of requests and responses, by the module of their schemas. */
const wire: Readonly<Record<string, Readonly<Record<string, TSchema>>>> = {
  'schemas/openai/chat-completions.ts': { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest },
  'schemas/openai/images-generations.ts': { ImageGenerationRequest }
}

/** The declarations of the package, by path below `dist`. Throws an Error for a type that is not stated. */
export function declarations (): Map<string, string> {
  const bodies = Object.entries(wire).map(([file, schemas]) =>
    [file, Object.entries(schemas).map(([name, schema]) => interfaceOf(name, schema, '')).join('\n')] as const)
  const config: Schema = JSON.parse(configJsonSchema())
  const all = [
    ...declared.map(file => [file, declarationOf(file)] as const),
    ...bodies,
    ['lib/gateway-file.ts', interfaceOf('GatewayFile', config, `/** The content of \`gateway.yaml\`. ${commentOf(config)} */\n`)] as const
  ]
  return new Map(all.map(([file, text]) => [file.replace(/\.ts$/, '.d.mts'), text]))
}

function declarationOf (file: string): string {
  const text = readFileSync(join(root, file), 'utf8')
  const { outputText, diagnostics = [] } = ts.transpileDeclaration(text, {
    fileName: file, reportDiagnostics: true, compilerOptions: { target: ts.ScriptTarget.ESNext }
  })
  const [first] = diagnostics
  if (first !== undefined) throw new Error(`${file}: ${ts.flattenDiagnosticMessageText(first.messageText, ' ')}`)
  return outputText.replace(/(from '\.[^']*)\.ts'|(from "\.[^"]*)\.ts"/g, (_all, single, double) =>
    single === undefined ? `${double}.mjs"` : `${single}.mjs'`)
}

interface Schema {
  type?: string | string[]
  description?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  required?: string[]
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  if?: Schema
  then?: Schema
  else?: Schema
}

function interfaceOf (name: string, schema: Schema, comment: string): string {
  return `${comment}export interface ${name} ${typeOf(schema, '')}\n`
}

function typeOf (schema: Schema, indent: string): string {
  const { type = [], anyOf } = schema
  if (anyOf !== undefined) return unionOf(anyOf.map(one => typeOf(one, indent)))
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return unionOf(schema.enum.map(value => JSON.stringify(value)))
  const types = [type].flat()
  if (schema.if !== undefined) return unionOf(types.map(one => typeOf(caseOf(schema, one), indent)))
  return unionOf(types.map(one => simpleTypeOf(one, schema, indent)))
}

/** The schema of the values of one type, if a schema tells types apart by `if`. */
function caseOf ({ if: condition, then, else: other = {}, ...schema }: Schema, type: string): Schema {
  if (condition === undefined) return { ...schema, type }
  return condition.type === type ? { ...then, type } : caseOf(other, type)
}

function simpleTypeOf (type: string, schema: Schema, indent: string): string {
  const { items, oneOf, properties, patternProperties = {}, additionalProperties } = schema
  if (type === 'array' && items !== undefined) return `Array<${typeOf(items, indent)}>`
  if (type !== 'object') return plainTypes[type] ?? 'unknown'
  if (oneOf !== undefined) return unionOf(oneOf.map(one => typeOf(one, indent)))
  if (properties !== undefined) return membersOf(schema, indent)
  const [values = additionalProperties] = Object.values(patternProperties)
  return typeof values === 'object' ? `Record<string, ${typeOf(values, indent)}>` : 'Record<string, unknown>'
}

const unionOf = (types: readonly string[]): string => types.length === 0 ? 'unknown' : [...new Set(types)].join(' | ')

const plainTypes: Readonly<Record<string, string>> = {
  string: 'string', number: 'number', integer: 'number', boolean: 'boolean', null: 'null'
}

function membersOf ({ properties = {}, required = [] }: Schema, indent: string): string {
  const deeper = `${indent}  `
  const members = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description === undefined ? '' : `${deeper}/** ${commentOf(schema)} */\n`
    return `${comment}${deeper}${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema, deeper)}`
  })
  return `{\n${members.join('\n')}\n${indent}}`
}

const commentOf = ({ description = '' }: Schema): string => description.replaceAll('*/', '* /')
