import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { configJsonSchema } from '../services/config/json-schema.ts'

// Declares the types of the package: those of `lib/`, and of gateway.yaml by its JSON Schema.

const root = join(import.meta.dirname, '..')

const testing = ['steps.ts', 'test-gateway.ts', 'types.ts', 'use-tollgate.ts'].map(name => `testing/${name}`)
/** The modules of `lib/` whose types an app sees. They import types only of each other and of packages. */
const declared = ['index.ts', 'options.ts', 'testing.ts', ...testing]

/** The declarations of the package, by path below `lib/`. Throws an Error for a type that is not stated. */
export function declarations (): Map<string, string> {
  const all = declared.map(file => [file.replace(/\.ts$/, '.d.mts'), declarationOf(file)] as const)
  return new Map([...all, ['gateway-file.d.mts', gatewayFile()]])
}

function declarationOf (file: string): string {
  const text = readFileSync(join(root, 'lib', file), 'utf8')
  const { outputText, diagnostics = [] } = ts.transpileDeclaration(text, {
    fileName: file, reportDiagnostics: true, compilerOptions: { target: ts.ScriptTarget.ESNext }
  })
  const [first] = diagnostics
  if (first !== undefined) throw new Error(`lib/${file}: ${ts.flattenDiagnosticMessageText(first.messageText, ' ')}`)
  return outputText.replace(/(from '\.[^']*)\.ts'|(from "\.[^"]*)\.ts"/g, (_all, single, double) =>
    single === undefined ? `${double}.mjs"` : `${single}.mjs'`)
}

interface Schema {
  type?: string | string[]
  description?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  required?: string[]
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
}

function gatewayFile (): string {
  const schema: Schema = JSON.parse(configJsonSchema())
  return `/** The content of \`gateway.yaml\`. ${commentOf(schema)} */\nexport interface GatewayFile ${typeOf(schema, '')}\n`
}

function typeOf (schema: Schema, indent: string): string {
  const { type, anyOf, items, properties, patternProperties } = schema
  if (anyOf !== undefined) return [...new Set(anyOf.map(one => typeOf(one, indent)))].join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(value => JSON.stringify(value)).join(' | ')
  if (properties !== undefined) return membersOf(schema, indent)
  if (items !== undefined) return `Array<${typeOf(items, indent)}>`
  const [values] = Object.values(patternProperties ?? {})
  if (values !== undefined) return `Record<string, ${typeOf(values, indent)}>`
  if (Array.isArray(type)) return type.map(one => plainTypes[one] ?? 'unknown').join(' | ')
  return plainTypes[type ?? ''] ?? 'unknown'
}

const plainTypes: Readonly<Record<string, string>> = {
  string: 'string', number: 'number', integer: 'number', boolean: 'boolean', null: 'null', object: 'Record<string, unknown>'
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
