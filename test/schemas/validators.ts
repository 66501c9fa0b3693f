import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { TSchema } from '@sinclair/typebox'
import { ajvOptions } from '../../services/http/validation.ts'

/** A schema of this project, compiled as the server compiles it. */
export function compile (schema: TSchema): ValidateFunction {
  return new Ajv({ ...ajvOptions, strict: true }).compile(schema)
}

/** One of the schemas of OpenAI's specification, by the name of its file. */
export function compileOpenAi (name: string): ValidateFunction {
  const file = new URL(`../fixtures/openai-schemas/${name}.json`, import.meta.url)
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  return ajv.compile(JSON.parse(readFileSync(file, 'utf8')))
}
