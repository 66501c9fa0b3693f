/** Turns the pieces of a body, its events or its one document, into packets. */
export type Cut = (pieces: Buffer[]) => Iterable<Buffer>

/** Ways to cut the same bytes into packets. */
export const cuts = {
  everyByte: (pieces: Buffer[]) => [...Buffer.concat(pieces)].map((byte) => Buffer.of(byte)),
  onePacket: (pieces: Buffer[]) => [Buffer.concat(pieces)],
  /** Between the bytes of each character that has more than one, and between the line ends of each event. */
  insideCharacters (pieces: Buffer[]) {
    const bytes = Buffer.concat(pieces)
    const lineFeed = 0x0a
    return cutAt(bytes, (at) => {
      const inCharacter = (bytes[at]! & 0xc0) === 0x80
      return inCharacter || (bytes[at] === lineFeed && bytes[at - 1] === lineFeed)
    })
  },
  /** Omits everything after the first `count` events, or the second half of a JSON document. */
  breakAfter: (count: number) => (pieces: Buffer[]) => {
    const [only = Buffer.alloc(0), ...more] = pieces
    return more.length === 0 ? [only.subarray(0, only.length / 2)] : pieces.slice(0, count)
  },
  /** Cuts at random positions, on average every `meanBytes`; deterministic for a seed. */
  anywhere: (seed: number, meanBytes = 16) => (pieces: Buffer[]) => {
    const random = randomOf(seed)
    return cutAt(Buffer.concat(pieces), () => random() < 1 / meanBytes)
  }
}

function cutAt (bytes: Buffer, isCut: (at: number) => boolean): Buffer[] {
  const packets: Buffer[] = []
  let start = 0
  for (let at = 1; at < bytes.length; at++) {
    if (!isCut(at)) continue
    packets.push(bytes.subarray(start, at))
    start = at
  }
  return [...packets, bytes.subarray(start)]
}

/** Mulberry32: numbers in [0, 1). */
function randomOf (seed: number): () => number {
  let state = seed
  return () => {
    state = state + 0x6d2b79f5 | 0
    let mixed = Math.imul(state ^ state >>> 15, 1 | state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32
  }
}
