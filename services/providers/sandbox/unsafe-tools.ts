import type { DeclaredTool } from './match-tools.ts'
import { isSchema } from './schema.ts'
import { wordsOf } from './words.ts'

const setOf = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

/** Words in the names of tools that run commands, code or queries, or that change files. */
const actingWords = setOf(`
  bash cmd code command computer console database db eval evaluate exec execute interpreter javascript kill mkdir mysql
  overwrite patch postgres powershell process pwsh python repl rm script sh shell sql sqlite ssh stdin sudo terminal touch
  unlink write zsh
`)
const describedWords = setOf('bash command javascript powershell python script shell sql subprocess terminal')
const commandWords = setOf('arg argv bash cmd cmdline command javascript powershell python script shell sql')
const fileWords = setOf('dir directory file filename filepath folder notebook path')
const readingWords = setOf('cat describe find get glob grep list load ls open read search show stat tree view')
const changingWords = setOf(`
  append copy create delete edit insert modify move patch put remove rename replace save update write
`)

/** Does nothing in a shell; nothing, or an error, in other languages. */
export const noCommand = 'true'

/**
 * Whether a tool seems to act on the machine of its caller: to run commands or to change files. Coding agents
 * run such calls unasked, so words of a prompt must not get into one.
 */
export function isUnsafe ({ name, description, parameters }: DeclaredTool): boolean {
  const words = wordsOf(name)
  const properties = propertyNames(parameters)
  if (hasAny(words, actingWords) || hasAny(wordsOf(description), describedWords)) return true
  if (properties.some(isCommand)) return true
  const takesFile = properties.some(property => hasAny(wordsOf(property), fileWords))
  return takesFile && (!hasAny(words, readingWords) || hasAny(words, changingWords))
}

/** Whether an argument seems to be a command or code that its tool runs. */
export function isCommand (name: string): boolean {
  const words = wordsOf(name)
  return hasAny(words, commandWords) || words.join(' ') === 'code'
}

function hasAny (words: readonly string[], wanted: ReadonlySet<string>): boolean {
  return words.some(word => wanted.has(word))
}

/** The names of all properties of a schema, nested ones too. */
function propertyNames (schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = isSchema(schema) && isSchema(schema.properties) ? Object.keys(schema.properties) : []
  return [...own, ...Object.values(schema).flatMap(propertyNames)]
}
