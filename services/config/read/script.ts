import { readFileSync } from 'node:fs'
import { Value } from '@sinclair/typebox/value'
import { parse } from 'yaml'
import { ScriptFile } from '../../../schemas/config/script.ts'

/** Reads a script. Throws an Error that says what is wrong with the file. */
export function readScript (path: string): ScriptFile {
  const script: unknown = parse(readFileSync(path, 'utf8'))
  if (Value.Check(ScriptFile, script)) return script
  const error = Value.Errors(ScriptFile, script).First()
  throw new Error(`${path} is no script: ${error?.path ?? ''} ${error?.message ?? ''}`)
}
