import { ESLint } from 'eslint'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { importedFiles } from './imports.ts'

// Measures the layout of the sources: folders and the imports between them, cycles, lines, comments, names.
// Types count as imports. A folder of `services` includes the folders below it.

const usage = `npm run structure -- [<folder of the project>] [--json]
  --json  print all figures as JSON`

const longestFiles = 10
const maxFunctionLines = 60
/** Folders that are no part of the gateway. */
const besideProduct = ['test', 'bench', 'tools', 'deploy']

interface Lines { code: number, comments: number, blank: number }

/** A source file; `path` is relative to the root of the project. */
interface Source extends Lines {
  path: string
  /** Of the top level; `.` for the files there. */
  folder: string
  isProduct: boolean
  text: string
}

const { values, positionals: [rootName = join(import.meta.dirname, '..')] } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } }
})
const root = resolve(rootName)

if (values.help) console.log(usage)
else {
  const structure = await measure(readSources())
  console.log(values.json ? JSON.stringify(structure, null, 2) : report(structure))
}

async function measure (sources: readonly Source[]) {
  const product = sources.filter(({ isProduct }) => isProduct)
  const services = product.filter(({ folder }) => folder === 'services')
  const paths = product.map(({ path }) => path)
  const known = new Set(paths)
  const targetsOf = (path: string) => importedFiles(root, path).filter(name => known.has(name))
  const imports = new Map(paths.map(path => [path, targetsOf(path)]))
  const folderImports = importsBetween(services, imports)
  const folderTargets = new Map(Object.entries(folderImports).map(([name, to]) => [name, Object.keys(to)]))
  return {
    services: {
      files: services.length,
      folders: new Set(services.map(({ path }) => serviceFolder(path)).filter(name => name !== null)).size,
      foldersAtAnyDepth: new Set(services.map(({ path }) => dirname(path))).size - 1,
      looseFiles: services.filter(({ path }) => serviceFolder(path) === null).map(({ path }) => path),
      folderImports,
      folderCycles: cyclesIn(folderTargets)
    },
    fileCycles: cyclesIn(imports),
    lines: linesByFolder(sources),
    product: sumOf(product),
    sharedNames: sharedNames(product),
    longestFiles: product.map(({ path, code, comments, blank }) => ({ path, lines: code + comments + blank }))
      .sort((one, other) => other.lines - one.lines).slice(0, longestFiles),
    longFunctions: await longFunctions(paths)
  }
}

function readSources (): Source[] {
  const paths = globSync('**/*.{ts,js}', { cwd: root, exclude: ['node_modules', '.tap', 'coverage', 'data'] })
  return paths.sort().map(path => {
    const folder = path.includes('/') ? path.slice(0, path.indexOf('/')) : '.'
    const text = readFileSync(join(root, path), 'utf8')
    return { path, folder, isProduct: !besideProduct.includes(folder), text, ...linesOf(text) }
  })
}

/** A line with code and a comment counts as code. */
function linesOf (text: string): Lines {
  const lines = { code: 0, comments: 0, blank: 0 }
  let isInside = false
  for (const line of text.trimEnd().split('\n').map(line => line.trim())) {
    isInside ||= line.startsWith('/*')
    lines[line === '' ? 'blank' : isInside || line.startsWith('//') ? 'comments' : 'code']++
    if (line.endsWith('*/')) isInside = false
  }
  return lines
}

function serviceFolder (path: string): string | null {
  const [, name = '', ...rest] = path.split('/')
  return rest.length === 0 ? null : name
}

/** For each folder of `services`, how many imports lead to each other one; the loose files are `.`. */
function importsBetween (services: readonly Source[], imports: ReadonlyMap<string, string[]>) {
  const counts: Record<string, Record<string, number>> = {}
  for (const { path } of services) {
    const from = serviceFolder(path) ?? '.'
    const row = counts[from] ??= {}
    for (const target of imports.get(path) ?? []) {
      const to = serviceFolder(target) ?? '.'
      if (target.startsWith('services/') && to !== from) row[to] = (row[to] ?? 0) + 1
    }
  }
  return counts
}

/** The largest groups of nodes that all reach each other. */
function cyclesIn (targets: ReadonlyMap<string, string[]>): string[][] {
  const reached = new Map([...targets.keys()].map(node => [node, reachable(node, targets)]))
  const groups = new Map<string, string[]>()
  for (const [node, others] of reached) {
    const group = [...others].filter(other => reached.get(other)?.has(node)).sort()
    if (group.length > 1) groups.set(group.join(), group)
  }
  return [...groups.values()]
}

function reachable (start: string, targets: ReadonlyMap<string, string[]>): Set<string> {
  const found = new Set<string>()
  const waiting = [start]
  for (const node of waiting) {
    for (const target of targets.get(node) ?? []) {
      if (found.has(target)) continue
      found.add(target)
      waiting.push(target)
    }
  }
  return found
}

function linesByFolder (sources: readonly Source[]): Record<string, Lines & { files: number }> {
  const folders = Object.entries(Object.groupBy(sources, ({ folder }) => folder))
  return Object.fromEntries(folders.map(([folder, files = []]) => [folder, sumOf(files)]))
}

function sumOf (files: readonly Lines[]): Lines & { files: number } {
  const sum = { files: files.length, code: 0, comments: 0, blank: 0 }
  for (const { code, comments, blank } of files) {
    sum.code += code
    sum.comments += comments
    sum.blank += blank
  }
  return sum
}

/** The names that more than one file declares and exports, each with those files. */
function sharedNames (sources: readonly Source[]): Record<string, string[]> {
  const declaration = /^export (?:default |async |abstract )*(?:function\*?|class|const|let|interface|type) ([\w$]+)/gm
  const files = new Map<string, Set<string>>()
  for (const { path, text } of sources) {
    for (const [, name = ''] of text.matchAll(declaration)) {
      files.set(name, (files.get(name) ?? new Set()).add(path))
    }
  }
  const shared = [...files].filter(([, paths]) => paths.size > 1).sort()
  return Object.fromEntries(shared.map(([name, paths]) => [name, [...paths]]))
}

/** The functions that take more than `maxFunctionLines`, as ESLint counts them, longest first. */
async function longFunctions (paths: string[]): Promise<{ path: string, line: number, lines: number }[]> {
  const rule = 'max-lines-per-function'
  const eslint = new ESLint({
    cwd: root,
    ruleFilter: ({ ruleId }) => ruleId === rule,
    overrideConfig: { rules: { [rule]: ['warn', { max: maxFunctionLines }] } }
  })
  const results = await eslint.lintFiles(paths)
  return results.flatMap(({ filePath, messages }) => messages.map(({ line, message }) => {
    return { path: relative(root, filePath), line, lines: Number(/\((\d+)\)/.exec(message)?.[1]) }
  })).sort((one, other) => other.lines - one.lines)
}

function report (structure: Awaited<ReturnType<typeof measure>>): string {
  const { services, fileCycles, lines, product, sharedNames, longestFiles, longFunctions } = structure
  const pairs = Object.values(services.folderImports).flatMap(row => Object.values(row))
  const share = product.comments / (product.code + product.comments)
  return [
    `services: ${services.folders} folders (${services.foldersAtAnyDepth} at any depth), ` +
      `${services.looseFiles.length} loose files`,
    `imports between these folders: ${pairs.reduce((sum, count) => sum + count, 0)} in ${pairs.length} pairs`,
    `cycles between these folders: ${listed(services.folderCycles)}`,
    `cycles between files: ${listed(fileCycles)}`,
    row('lines', ['files', 'code', 'comments', 'blank']),
    ...Object.entries(lines).map(([folder, counts]) => row(folder, Object.values(counts))),
    row('product', Object.values(product)),
    `comments in the product: ${(share * 100).toFixed(1)} % of the lines that are not blank`,
    `exported names that several files declare: ${Object.keys(sharedNames).length}`,
    ...Object.entries(sharedNames).map(([name, paths]) => `  ${name}: ${paths.join(', ')}`),
    'longest files',
    ...longestFiles.map(({ path, lines }) => `  ${String(lines).padStart(4)} ${path}`),
    `functions over ${maxFunctionLines} lines: ${longFunctions.length}`,
    ...longFunctions.map(({ path, line, lines }) => `  ${String(lines).padStart(4)} ${path}:${line}`)
  ].join('\n')
}

function row (name: string, cells: readonly (string | number)[]): string {
  return `  ${name.padEnd(10)}${cells.map(cell => cell.toLocaleString('en').padStart(10)).join('')}`
}

/** The number of groups, then each in a line of its own. */
function listed (groups: readonly string[][]): string {
  return [groups.length, ...groups.map(group => `  ${group.length}: ${group.join(', ')}`)].join('\n')
}
