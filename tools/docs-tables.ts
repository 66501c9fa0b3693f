import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { knownProviders, type KnownProvider } from '../schemas/config/known-providers.ts'
import { variables } from '../services/config/settings/settings.ts'

// Writes the tables of the documents that follow from code: the settings, and the keys of providers of text.

const root = join(import.meta.dirname, '..')

for (const file of ['README.md', ...globSync('docs/*.md', { cwd: root })]) {
  const before = readFileSync(join(root, file), 'utf8')
  const after = before
    .replace(/^\| `HOST` \|(.*\n\| `[A-Z_]+` \|)*.*$/m, settingsRows)
    .replace(/^\| text \| `OPENAI_API_KEY`.*$/m, textRow)
  if (after === before) continue
  writeFileSync(join(root, file), after)
  process.stdout.write(`${file}\n`)
}

function settingsRows (): string {
  const rows = Object.entries(variables).map(([name, { shownDefault, description }]) =>
    `| \`${name}\` | ${shownDefault} | ${description} |`)
  return rows.join('\n')
}

function textRow (): string {
  return `| text | ${knownProviders.filter(({ mediaOnly, keys }) => mediaOnly !== true && keys.length > 0).map(keyOf).join(', ')} |`
}

function keyOf ({ keys: [key, ...others], endpoint }: KnownProvider): string {
  const alternatives = others.length === 0 ? '' : ` (or ${others.map(other => `\`${other}\``).join(', ')})`
  return `\`${key}\`${alternatives}${endpoint === undefined ? '' : ` with \`${endpoint.variable}\``}`
}
