import t from 'tap'
import { framesOf, type Frame } from '../../../../services/providers/bedrock/frames.ts'
import { encodeFrame } from '../../../servers/bedrock.ts'
import { rejection } from '../../../helpers/thrown.ts'

// The frames are encoded by AWS's codec.

async function * pieces (bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const sent = ['contentBlockDelta', 'messageStop', 'ünï'].map((name, at) =>
  encodeFrame({ ':event-type': name, body: { at, text: 'Grüße'.repeat(at * 50) } }))
const bytes = Buffer.concat(sent)
async function read (size: number, of = bytes): Promise<Frame[]> {
  return await Array.fromAsync(framesOf(pieces(of, size)))
}

t.test('frames are read however the network cuts them', async t => {
  for (const size of [1, 7, 12, 13, sent[0]!.length, bytes.length]) {
    const frames = await read(size)
    t.same(frames.map(({ headers }) => headers[':event-type']), ['contentBlockDelta', 'messageStop', 'ünï'])
    t.same(frames.map(({ payload }) => JSON.parse(payload.toString()).at), [0, 1, 2])
  }
})

t.test('headers of all types are skipped or read', async t => {
  const { EventStreamCodec } = await import('@smithy/core/event-streams')
  const codec = new EventStreamCodec(text => Buffer.from(text).toString(), text => Buffer.from(text))
  const frame = codec.encode({
    headers: {
      a: { type: 'boolean', value: true },
      b: { type: 'byte', value: 1 },
      c: { type: 'short', value: 2 },
      d: { type: 'integer', value: 3 },
      e: { type: 'binary', value: Buffer.from('xyz') },
      f: { type: 'timestamp', value: new Date(0) },
      g: { type: 'uuid', value: '00000000-0000-0000-0000-000000000000' },
      h: { type: 'string', value: 'text' }
    },
    body: Buffer.from('{}')
  })
  t.same((await read(5, Buffer.from(frame))).map(({ headers }) => headers), [{ h: 'text' }])
})

t.test('a changed byte, a wrong length and a cut frame are bad replies', async t => {
  const first = sent[0]!
  for (let at = 0; at < first.length; at++) {
    const changed = Buffer.from(first)
    changed[at]! ^= 0x10
    t.match(await rejection(read(64, changed)), { kind: 'bad_reply' }, `byte ${at}`)
  }
  t.match(await rejection(read(64, bytes.subarray(0, -1))), { kind: 'bad_reply', message: /ended within an event/ })
  t.same(await read(1, Buffer.alloc(0)), [])
})
