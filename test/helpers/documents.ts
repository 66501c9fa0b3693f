import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withoutHooks } from './process.ts'

/** The folder of the project. */
export const root = join(import.meta.dirname, '..', '..')

/** What users and operators read: paths relative to the root. */
export const documents: readonly string[] = ['README.md', ...globSync('docs/**/*.md', { cwd: root }).sort()]

export const textOf = (document: string): string => readFileSync(join(root, document), 'utf8')

/** The code blocks of a language in a document, with `url` for the gateway's default address. */
export function blocksOf (document: string, language: string, url = ''): string[] {
  const found = textOf(document).matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))
  const origin = url.replace(/\/v1$/, '')
  return [...found].map(([, block = '']) => block.replaceAll('http://127.0.0.1:8080', origin))
}

/** The section below a heading of the second level, until the next one. */
export function sectionOf (document: string, heading: string): string {
  return textOf(document).split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
}

/** Runs a program with the key of a gateway; rejects with its output if it fails. */
export async function runExample (
  key: string, cwd: string, command: string, ...args: string[]
): Promise<string> {
  const env = { ...process.env, TOLLGATE_KEY: key }
  const { stdout } = await promisify(execFile)(...withoutHooks(command, ...args), { env, cwd })
  return stdout
}
