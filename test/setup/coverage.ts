import { relative } from 'node:path'

/** The lowest coverage allowed, in percent. The floors are raised by hand, never lowered. */
export type Floor = Record<Kind, number>

/** The output of Istanbul's reporter `json-summary`: by absolute path, and `total`. */
export type CoverageSummary = Record<string, Record<Kind, { covered: number, total: number }>>

type Kind = 'lines' | 'branches' | 'functions'

const kinds: readonly Kind[] = ['lines', 'branches', 'functions']
const product = /^(plugins|routes|schemas|services|cli|bin)\/|^fastify\.config\.ts$/
const listed = 10
/** Variation of the figures between runs, in percent. */
const margin = 0.3

/** A short report on the coverage of the gateway's own files, and whether it is below `floor` in any kind. */
export function coverageReport (
  summary: CoverageSummary, floor: Floor, root: string
): { text: string, isBelow: boolean } {
  const files = Object.entries(summary).map(([path, counts]) => ({ path: relative(root, path), counts }))
    .filter(({ path }) => isProduct(path))
  const verdicts = kinds.map(kind => {
    const percent = percentOf(files.map(({ counts }) => counts[kind]))
    return { kind, percent, isBelow: percent < floor[kind], next: Math.floor((percent - margin) * 10) / 10 }
  })
  const least = files.map(({ path, counts }) => ({ path, percent: percentOf([counts.lines]) }))
    .sort((one, other) => one.percent - other.percent).slice(0, listed)
  const text = [
    `Coverage: ${verdicts.map(({ kind, percent }) => `${percent.toFixed(2)} % of ${kind}`).join(', ')}`,
    'Files with the lowest share of covered lines:',
    ...least.map(({ path, percent }) => `${percent.toFixed(1).padStart(7)} % ${path}`),
    ...verdicts.filter(({ isBelow }) => isBelow).map(({ kind }) => {
      return `The coverage of ${kind} is below its floor of ${floor[kind]} % in test/coverage-floor.json.`
    }),
    ...verdicts.filter(({ kind, next }) => next > floor[kind]).map(({ kind, next }) => {
      return `The floor of ${kind} in test/coverage-floor.json can be raised from ${floor[kind]} to ${next} %.`
    })
  ].join('\n')
  return { text, isBelow: verdicts.some(({ isBelow }) => isBelow) }
}

/** Whether a path, relative to the root, is of the gateway, and not of its tests or tools. */
export function isProduct (path: string): boolean {
  return product.test(path)
}

function percentOf (counts: readonly { covered: number, total: number }[]): number {
  const total = counts.reduce((sum, count) => sum + count.total, 0)
  const covered = counts.reduce((sum, count) => sum + count.covered, 0)
  return total === 0 ? 100 : covered / total * 100
}
