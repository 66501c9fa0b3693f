import t from 'tap'
import { readMp4 } from '../../../../services/videos/runner/read-mp4.ts'

type Form = 'usual' | 'large' | 'to the end'

/** A box as ISO/IEC 14496-12, section 4.2, has it: with 32 or 64 bits of size, or as the last of a file. */
function box (type: string, content: Buffer, form: Form = 'usual'): Buffer {
  const name = Buffer.from(type, 'latin1')
  const size = Buffer.alloc(4)
  if (form === 'to the end') return Buffer.concat([size, name, content])
  if (form === 'usual') {
    size.writeUInt32BE(8 + content.length)
    return Buffer.concat([size, name, content])
  }
  size.writeUInt32BE(1)
  const large = Buffer.alloc(8)
  large.writeBigUInt64BE(BigInt(16 + content.length))
  return Buffer.concat([size, name, large, content])
}

/** `mvhd`, of version 0 or 1 (section 8.2.2). */
function movieHeader (scale: number, duration: number, version = 0): Buffer {
  const content = Buffer.alloc(version === 1 ? 112 : 100)
  content[0] = version
  content.writeUInt32BE(scale, version === 1 ? 20 : 12)
  if (version === 1) content.writeBigUInt64BE(BigInt(duration), 24)
  else content.writeUInt32BE(duration, 16)
  return box('mvhd', content)
}

/** `trak` with `tkhd`, of version 0 or 1 (section 8.3.2); sizes are fixed-point numbers of 16.16 bits. */
function track (width: number, height: number, version = 0): Buffer {
  const at = version === 1 ? 88 : 76
  const content = Buffer.alloc(at + 8)
  content[0] = version
  content.writeUInt32BE(width * 65_536, at)
  content.writeUInt32BE(height * 65_536, at + 4)
  return box('trak', box('tkhd', content))
}

async function read (...boxes: Buffer[]) {
  const file = Buffer.concat(boxes)
  return await readMp4(file.length, async (start, end) => file.subarray(start, end + 1))
}

const kind = box('ftyp', Buffer.from('isom'))
const data = box('mdat', Buffer.alloc(1000))
const nothing = { seconds: null, width: null, height: null }

t.test('the length and the size are read wherever the header is, in each of its forms', async t => {
  for (const version of [0, 1]) {
    const [sound, picture] = [track(0, 0, version), track(1280, 720, version)]
    const movie = Buffer.concat([movieHeader(600, 4_800, version), sound, picture])
    const expected = { seconds: 8, width: 1280, height: 720 }
    t.same(await read(kind, box('moov', movie), data), expected, 'first')
    t.same(await read(kind, data, box('moov', movie)), expected, 'after the data')
    t.same(await read(kind, box('mdat', Buffer.alloc(1000), 'large'), box('moov', movie, 'large')), expected, 'with 64 bits')
    t.same(await read(kind, data, box('moov', movie, 'to the end')), expected, 'to the end of the file')
  }
})

t.test('what the header does not say is null', async t => {
  const size = { width: 640, height: 360 }
  const cases: [string, Buffer[]][] = [
    ['no movie header', []],
    ['a time scale of 0', [movieHeader(0, 4_800)]],
    ['a fragmented file', [movieHeader(600, 0)]],
    ['a fragmented file', [movieHeader(600, 0xffffffff)]],
    ['a header that is cut off', [box('mvhd', Buffer.alloc(19))]],
    ['a long header that is cut off', [box('mvhd', Buffer.alloc(31, 1))]]
  ]
  for (const [what, headers] of cases) {
    const movie = Buffer.concat([...headers, track(640, 360)])
    t.same(await read(kind, box('moov', movie)), { seconds: null, ...size }, what)
  }
  const sound = box('trak', box('tkhd', Buffer.alloc(20)))
  t.same(await read(box('moov', Buffer.concat([movieHeader(1, 5), sound]))), { seconds: 5, width: null, height: null })
})

t.test('files that are no MP4, or broken, say nothing', async t => {
  const movie = Buffer.concat([movieHeader(600, 4_800), track(1280, 720)])
  const whole = box('moov', movie)
  const tooLarge = Buffer.from(whole)
  tooLarge.writeUInt32BE(whole.length + 1)
  const tooSmall = Buffer.from('00000007', 'hex')
  const oddSize = Buffer.concat([Buffer.from('00000001', 'hex'), Buffer.from('mdat'), Buffer.alloc(8)])
  const cases: [string, Buffer[]][] = [
    ['an empty file', []],
    ['text', [Buffer.from('<!doctype html><title>Not found</title>')]],
    ['no header', [kind, data]],
    ['a header beyond the end of the file', [kind, tooLarge]],
    ['a box that is smaller than its head', [tooSmall, Buffer.from('mdat')]],
    ['a box whose 64 bits of size are smaller than its head', [oddSize, whole]],
    ['a file that ends within the head of a large box', [kind, Buffer.from('00000001', 'hex'), Buffer.from('mdat1234')]],
    ['endless empty boxes', [Buffer.concat(Array(1_001).fill(box('free', Buffer.alloc(0)))), whole]]
  ]
  for (const [what, boxes] of cases) t.same(await read(...boxes), nothing, what)

  const broken = Buffer.concat([movieHeader(600, 4_800), tooSmall, Buffer.from('trak')])
  t.same(await read(box('moov', broken)), { seconds: 8, width: null, height: null }, 'a box within the header')
})
