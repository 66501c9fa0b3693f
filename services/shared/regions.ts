import { compileGlob } from './glob.ts'

/** The regions where a request may be processed, as globs; null: anywhere. */
export type RegionList = readonly string[] | null

/** Whether a region is on every list. An unknown one (null) is on none. */
export function isOnLists (region: string | null, lists: readonly RegionList[]): boolean {
  return lists.every(list => {
    return list === null || (region !== null && list.some(glob => compileGlob(glob)(region)))
  })
}
