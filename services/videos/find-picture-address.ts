/** No server takes longer addresses. */
export const maxAddressLength = 4_000

/** The address of a picture within a text, which begins at `index`. */
export interface PictureAddress { url: string, index: number }

/**
 * Finds the first https address that names a picture by its ending and stands by itself: between white space,
 * quotes, brackets and the ends of the text. Takes linear time. Null: there is none.
 */
export function findPictureAddress (text: string): PictureAddress | null {
  for (const { 0: word, index } of text.matchAll(/[^\s"'<>()]+/g)) {
    const at = word.search(/https:\/\//i)
    if (at === -1 || word.length - at > maxAddressLength) continue
    const url = word.slice(at)
    if (namesPicture(url)) return { url, index: index + at }
  }
  return null
}

/** The first ending that the query follows, or none does, decides: there is nothing to go back for. */
function namesPicture (url: string): boolean {
  return /^https:\/\/.+?\.(?:png|jpe?g|webp|gif)(?:\?.+)?$/is.test(url)
}
