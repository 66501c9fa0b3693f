/** A 32-bit unsigned number that depends on every character of the parts (FNV-1a over UTF-16 code units). */
export function fnv1aHash (...parts: string[]): number {
  let hash = 0x811c9dc5
  for (const part of parts) {
    for (let i = 0; i < part.length; i++) hash = Math.imul(hash ^ part.charCodeAt(i), 0x01000193)
    hash = Math.imul(hash ^ 0xffff, 0x01000193)
  }
  // Without this last mixing the low bits of similar texts are alike.
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b)
  return (hash ^ (hash >>> 16)) >>> 0
}
