/**
 * How `npm test` divides the folders of `test` that have an `all.ts` among processes, so that none ends
 * much later than the others. They run at once, because most of their time they wait; each takes two or
 * three seconds of processor time to load what it tests, so there are few. A folder in no row is run by the
 * last one.
 */
export const lanes: readonly (readonly string[])[] = [
  ['contract/money'],
  ['contract'],
  ['services/billing/ledger', 'services/billing/ledger/cluster'],
  ['.', 'contract/failures'],
  ['routes', 'routes/v1', 'routes/admin', 'contract/messages'],
  ['bin', 'fuzz', 'contract/auto', 'contract/responses', 'services/providers', 'services/media', 'services/routing'],
  [
    'services/videos', 'services/videos/runner', 'services/billing/ledger/commit', 'services/billing/ledger/books', 'services/keys', 'cli', 'hostile'
  ],
  ['services', 'services/store', 'services/operations/admin', 'services/keys/sessions', 'plugins', 'schemas']
]

/** For `npm run test:chaos`, which kills and restarts processes, `test:browser` and `test:console`. */
const apart = ['browser', 'chaos', 'console']

/** The index of the row whose process runs the tests of a folder; null if they have their own command. */
export function laneOf (folder: string): number | null {
  if (apart.includes(folder)) return null
  const index = lanes.findIndex(lane => lane.includes(folder))
  return index === -1 ? lanes.length - 1 : index
}
