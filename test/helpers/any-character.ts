import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }

/**
 * Any character of Unicode, as `unit` of strings. The unit `binary` of fast-check takes a second of processor
 * time to list them all, and each garbage collection after that visits the list.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10_ffff - surrogates.count })
  .map(code => String.fromCodePoint(code < surrogates.first ? code : code + surrogates.count))
