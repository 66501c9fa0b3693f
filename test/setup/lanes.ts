/**
 * How `npm test` divides the folders of `test` that have an `all.ts` among processes. Each takes three to
 * four seconds of processor time to load the gateway and to record its coverage, so there are few. They start
 * in this order, the longest first: those that mostly wait are beside those that mostly compute. A folder in
 * no row is run by the last process.
 */
export const lanes: readonly (readonly string[])[] = [
  ['contract', 'contract/messages'],
  ['.', 'hostile'],
  ['services/store', 'services/media'],
  ['routes/v1'],
  ['routes', 'services/videos', 'services/videos/runner'],
  ['contract/money'],
  ['services/ledger', 'services/ledger/cluster', 'services/ledger/commit'],
  ['fuzz', 'bin', 'plugins', 'contract/responses'],
  ['contract/auto', 'contract/failures', 'services/providers', 'services/routing'],
  ['services', 'services/console', 'services/keys', 'services/admin', 'schemas']
]

/** For `npm run test:chaos`, which kills and restarts processes, and `npm run test:console`, in a browser. */
const apart = ['chaos', 'console']

/** The index of the row whose process runs the tests of a folder; null if they have their own command. */
export function laneOf (folder: string): number | null {
  if (apart.includes(folder)) return null
  const index = lanes.findIndex(lane => lane.includes(folder))
  return index === -1 ? lanes.length - 1 : index
}
