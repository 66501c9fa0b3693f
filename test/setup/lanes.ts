/**
 * How `npm test` divides the folders of `test` that have an `all.ts` among processes, so that none ends
 * much later than the others. Each takes three to five seconds of processor time to load what it tests, so
 * there are few. A folder in no row is run by the last process.
 */
export const lanes: readonly (readonly string[])[] = [
  ['services/store', 'services/media'],
  ['contract', 'contract/messages'],
  ['.', 'hostile', 'services/keys'],
  ['services/ledger'],
  ['routes/v1', 'cli', 'services/videos', 'services/videos/runner'],
  ['routes/admin', 'contract/responses'],
  ['contract/money', 'services/ledger/cluster', 'services/ledger/commit', 'plugins'],
  ['contract/auto', 'contract/failures', 'services/providers', 'services/routing', 'services/ledger/books'],
  ['fuzz', 'bin', 'routes'],
  ['services', 'services/console', 'services/admin', 'schemas']
]

/** For `npm run test:chaos`, which kills and restarts processes, `test:browser` and `test:console`. */
const apart = ['browser', 'chaos', 'console']

/** The index of the row whose process runs the tests of a folder; null if they have their own command. */
export function laneOf (folder: string): number | null {
  if (apart.includes(folder)) return null
  const index = lanes.findIndex(lane => lane.includes(folder))
  return index === -1 ? lanes.length - 1 : index
}
