import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What a source file names in its imports, types and dynamic imports included, as it is written there. */
export function importsOf (text: string): string[] {
  return [...text.matchAll(/(?:from|import\(|import)\s*'([^']+)'/g)].map(match => match[1] ?? '')
}

/** The files of the project that `file` imports; paths are relative to `root`. */
export function importedFiles (root: string, file: string): string[] {
  const names = importsOf(readFileSync(join(root, file), 'utf8'))
  return names.filter(name => name.startsWith('.')).map(name => join(dirname(file), name))
}
