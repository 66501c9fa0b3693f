import { crc32, deflateSync } from 'node:zlib'

/** A real PNG image of one colour. */
export function pngOf (width: number, height: number, grey = 128): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8)
  const rows = Buffer.alloc((width + 1) * height, grey)
  for (let row = 0; row < height; row++) rows[row * (width + 1)] = 0
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))
  ])
}

/** A tiny PNG that declares any size: a decompression bomb. */
export function bombOf (width: number, height: number): Buffer {
  const bomb = Buffer.from(pngOf(1, 1))
  bomb.writeUInt32BE(width, 16)
  bomb.writeUInt32BE(height, 20)
  return bomb
}

/** An MP4 file type box, then the given number of bytes. */
export function mp4Of (bytes: number, brand = 'isom'): Buffer {
  const box = Buffer.from(`\0\0\0\x18ftyp${brand}\0\0\x02\0${brand}mp42`, 'latin1')
  return Buffer.concat([box, Buffer.alloc(Math.max(0, bytes - box.length), 7)])
}

function chunk (type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  framed.set(body, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}

/** Passes bytes on in pieces of the given length. */
export async function * inPieces (bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length)
}
