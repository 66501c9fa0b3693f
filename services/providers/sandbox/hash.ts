/** FNV-1a over the UTF-16 code units of the parts, as an unsigned 32-bit number. */
export function fnv1aHash (...parts: string[]): number {
  let hash = 0x811c9dc5
  for (const part of parts) {
    for (let i = 0; i < part.length; i++) hash = Math.imul(hash ^ part.charCodeAt(i), 0x01000193)
    hash = Math.imul(hash ^ 0xffff, 0x01000193)
  }
  // Mixes the low bits, which are alike for similar texts.
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b)
  return (hash ^ (hash >>> 16)) >>> 0
}
