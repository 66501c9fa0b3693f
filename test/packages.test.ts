import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import packageFile from '../package.json' with { type: 'json' }

interface Locked { dev?: boolean, license?: string, hasInstallScript?: boolean, resolved?: string }

const root = join(import.meta.dirname, '..')
const packages: Record<string, Locked> = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
const locked = Object.entries(packages).filter(([path]) => path !== '')
const production = locked.filter(([, { dev }]) => dev !== true)

/** Licenses that ask for nothing but their text, except LGPL of libvips, which is linked dynamically. */
const allowed = new Set([
  '0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'CC0-1.0', 'ISC', 'LGPL-3.0-or-later', 'MIT'
])
/** What runs nowhere but in tests and tools may have these too. */
const allowedInDevelopment = new Set([...allowed, 'AFL-2.1', 'CC-BY-3.0', 'MPL-2.0', 'Python-2.0', 'Unlicense', 'WTFPL'])

/** Read in the packages: their manifests do not name the license that they come with. */
const unnamed: Readonly<Record<string, string>> = {
  'node_modules/humanize-number': 'MIT', 'node_modules/jsonc-simple-parser': 'MIT'
}

/** Whether an SPDX expression can be met: by one side of OR, by both of AND. */
function isMet (expression: string, licenses: ReadonlySet<string>): boolean {
  const plain = expression.replace(/[()]/g, '')
  return plain.split(' OR ').some(side => side.split(' AND ').every(license => licenses.has(license.trim())))
}

/** The license of a package whose entry in the lock has none, as its own file says. */
function licenseOf ([path, { license }]: [string, Locked]): string {
  const known = license ?? unnamed[path]
  if (known !== undefined) return known
  try {
    const { license, licenses = [] }: { license?: string, licenses?: { type: string }[] } =
      JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'))
    return license ?? licenses.map(({ type }) => type).join(' OR ')
  } catch {
    return 'unknown'
  }
}

t.test('every package has a license that the project may use', async t => {
  t.ok(production.length > 100)
  const wrong = (entries: typeof locked, licenses: ReadonlySet<string>) => entries
    .filter(entry => !isMet(licenseOf(entry), licenses)).map(entry => `${entry[0]}: ${licenseOf(entry)}`)
  t.same(wrong(production, allowed), [])
  t.same(wrong(locked.filter(([, { dev }]) => dev === true), allowedInDevelopment), [])
  t.notOk(isMet('AGPL-3.0-only', allowedInDevelopment))
  t.ok(isMet('(MIT OR GPL-2.0)', allowed))
  t.notOk(isMet('MIT AND GPL-2.0', allowed))
  const copyleft = production.filter(entry => licenseOf(entry).includes('LGPL')).map(([path]) => path)
  t.same(copyleft.filter(path => !path.startsWith('node_modules/@img/')), [], 'libvips alone')
})

t.test('no production package runs a script when it is installed', async t => {
  t.same(production.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path), [])
})

t.test('production packages are pinned, come from the registry, and each direct one has a reason', async t => {
  const reasons = readFileSync(join(root, 'docs', 'packages.md'), 'utf8')
  const direct = { ...packageFile.dependencies, ...packageFile.optionalDependencies }
  const named = [...reasons.matchAll(/`([@\w./-]+)`/g)].map(([, name = '']) => name)
  for (const [name, version] of Object.entries(direct)) {
    t.match(version, /^\d+\.\d+\.\d+$/, name)
    t.ok(named.includes(name), `docs/packages.md names ${name}`)
  }
  for (const [path, { resolved }] of production) t.match(resolved, /^https:\/\/registry\.npmjs\.org\//, path)
  t.match(reasons, `${production.length} packages`, 'the documented number')
})
