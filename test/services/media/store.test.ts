import { createHash } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import t from 'tap'
import { BlobMissing, MediaRejected, MediaUnavailable } from '../../../services/media/errors.ts'
import { createUrlSigner, sharedSigningKey } from '../../../services/media/url-signer.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { bytesOf, createWorld, hourMs } from './helper.ts'
import { bombOf, inPieces, mp4Of, pngOf } from './samples.ts'
import { secretBox } from '../../helpers/secret-box.ts'

const image = { kind: 'image', account: 'a' } as const
const video = { kind: 'video', account: 'a' } as const

forEachEngine(t, 'returns a stored file, whole or in part, until it expires', async (t, database) => {
  const { media, now, files, folder } = await createWorld(t, database.open)
  const png = pngOf(30, 20)
  const stored = await media.put(inPieces(png, 7), { ...image, job: 'job_1' })
  t.match(stored, {
    id: /^[0-9a-f]{32}$/,
    mime: 'image/png',
    extension: 'png',
    bytes: png.length,
    width: 30,
    height: 20,
    createdAt: now.ms,
    expiresAt: now.ms + hourMs
  })
  const sha256 = createHash('sha256').update(png).digest('hex')
  t.same(await media.get(stored.id), { ...stored, account: 'a', job: 'job_1', sha256 })
  t.same(await bytesOf(await media.read(stored)), png)
  t.same(await bytesOf(await media.read(stored, { start: 1, end: 3 })), Buffer.from('PNG'))
  t.same(await files(), [`${folder}/${stored.id.slice(0, 2)}/${stored.id}.png`])

  now.ms += hourMs
  t.equal(await media.get(stored.id), undefined)
})

forEachEngine(t, 'accepts a retention per file, and finds nothing for an unknown id', async (t, database) => {
  const { media, now } = await createWorld(t, database.open)
  const { id, expiresAt } = await media.put(mp4Of(1000), { ...video, retentionMs: 5 })
  t.equal(expiresAt, now.ms + 5)
  t.match(await media.get(id), { mime: 'video/mp4', width: null, height: null, job: null })
  t.equal(await media.get('0'.repeat(32)), undefined)
})

t.test('reports a missing blob before the first byte is read', async t => {
  const { media, folder } = await createWorld(t)
  const stored = await media.put(pngOf(1, 1), image)
  await rm(folder, { recursive: true })
  await t.rejects(media.read(stored), BlobMissing)
})

t.test('creates files that other users cannot read', { skip: process.platform === 'win32' }, async t => {
  const { media, folder, files } = await createWorld(t)
  await media.put(pngOf(1, 1), image)
  for (const path of [folder, ...await files()]) t.equal((await stat(path)).mode & 0o077, 0, path)
})

t.test('detects the type from the bytes, and rejects other kinds than the expected one', async t => {
  const { media, files } = await createWorld(t)
  const refused: [string, Uint8Array, object][] = [
    ['HTML that calls itself an image', Buffer.from('<!doctype html><html><body>Not found</body></html>'.repeat(9)), image],
    ['SVG, which can hold scripts', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'), image],
    ['JSON shorter than any signature', Buffer.from('{}'), image],
    ['a video for an image', mp4Of(1000), image],
    ['an image for a video', pngOf(9, 9), video],
    ['audio in a video container', mp4Of(1000, 'M4A '), video],
    ['Matroska that is no WebM', Buffer.from('\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska', 'latin1'), video],
    ['a magic number without a body', pngOf(1, 1).subarray(0, 8), image]
  ]
  for (const [what, bytes, options] of refused) {
    await t.rejects(media.put(bytes, { ...image, ...options }), { name: 'MediaRejected', reason: 'wrong_type' }, what)
  }
  await t.rejects(media.put(Buffer.alloc(0), image), { name: 'MediaRejected', reason: 'empty' })
  t.same(await files(), [])
})

t.test('accepts every supported type', async t => {
  const { media } = await createWorld(t)
  const webp = Buffer.from('RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\x03\xc0\0\0\x07\x10\x11\x11\x88\x88\xfe\x07\0', 'latin1')
  const gif = Buffer.from('GIF89a\x05\0\x04\0\0\0\0;', 'latin1')
  const jpeg = Buffer.from('\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0' +
    '\xff\xc0\0\x0b\x08\0\x06\0\x07\x01\x01\x11\0\xff\xd9', 'latin1')
  const webm = Buffer.from('\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm', 'latin1')
  const cases: [Buffer, 'image' | 'video', string, string, number | null, number | null][] = [
    [pngOf(3, 2), 'image', 'image/png', 'png', 3, 2],
    [jpeg, 'image', 'image/jpeg', 'jpg', 7, 6],
    [webp, 'image', 'image/webp', 'webp', 4, 4],
    [gif, 'image', 'image/gif', 'gif', 5, 4],
    [mp4Of(99), 'video', 'video/mp4', 'mp4', null, null],
    [mp4Of(99, 'qt  '), 'video', 'video/quicktime', 'mov', null, null],
    [webm, 'video', 'video/webm', 'webm', null, null]
  ]
  for (const [bytes, kind, mime, extension, width, height] of cases) {
    t.match(await media.put(bytes, { kind, account: 'a' }), { mime, extension, width, height }, mime)
  }
})

t.test('rejects a decompression bomb', async t => {
  const { media, files } = await createWorld(t)
  for (const [width, height] of [[16_385, 1], [1, 0xffff_ffff], [16_384, 16_384], [0, 5]] as const) {
    await t.rejects(media.put(bombOf(width, height), image), MediaRejected, `${width}x${height}`)
  }
  t.same(await files(), [])
  t.match(await media.put(bombOf(16_384, 6000), image), { width: 16_384 })
})

t.test('stops reading a body at the size limit, and closes it', async t => {
  const { media, files } = await createWorld(t)
  let closed = false
  async function * endless () {
    try {
      yield mp4Of(1000)
      for (;;) yield Buffer.alloc(64 * 1024)
    } finally {
      closed = true
    }
  }
  await t.rejects(media.put(endless(), { ...video, maxBytes: 1_000_000 }), { name: 'MediaRejected', reason: 'too_large' })
  t.ok(closed)
  t.same(await files(), [])
})

t.test('rejects a body of a wrong type after its first bytes', async t => {
  const { media } = await createWorld(t)
  let pieces = 0
  async function * html () {
    for (;;) {
      pieces += 1
      yield Buffer.from('<html>'.repeat(20))
    }
  }
  await t.rejects(media.put(html(), video), { name: 'MediaRejected', reason: 'wrong_type' })
  t.equal(pieces, 1)
})

t.test('rethrows the error of a broken body and leaves no file', async t => {
  const { media, files } = await createWorld(t)
  async function * broken () {
    yield pngOf(9, 9)
    throw new Error('the provider hung up')
  }
  await t.rejects(media.put(broken(), image), { message: 'the provider hung up' })
  t.same(await files(), [])
})

t.test('throws MediaUnavailable for a folder it cannot write to', async t => {
  const { media, folder } = await createWorld(t)
  const { mkdir, writeFile } = await import('node:fs/promises')
  await mkdir(folder)
  await writeFile(`${folder}/incoming`, 'in the way')
  await t.rejects(media.put(pngOf(1, 1), image), MediaUnavailable)
})

t.test('signs URLs and rejects forged signatures', async t => {
  const { media, now } = await createWorld(t)
  const stored = await media.put(pngOf(1, 1), image)
  const url = new URL(media.url(stored, 'https://gw.example.com/v1'))
  t.equal(url.origin + url.pathname, `https://gw.example.com/v1/media/${stored.id}.png`)
  t.equal(url.searchParams.get('exp'), String(Math.floor((now.ms + hourMs) / 1000)))
  const exp = url.searchParams.get('exp') ?? ''
  const sig = url.searchParams.get('sig') ?? ''
  t.match(sig, /^[\w-]{43}$/)
  t.ok(media.verifyUrl(stored.id, exp, sig))
  t.notOk(media.verifyUrl(stored.id, String(Number(exp) + 1), sig))
  t.notOk(media.verifyUrl('0'.repeat(32), exp, sig))
  for (const other of ['', sig.slice(1), `${sig}A`, `${sig}=`, `A${sig.slice(1, 43)}`.replace(sig, 'B')]) {
    t.notOk(media.verifyUrl(stored.id, exp, other), other)
  }
})

t.test('accepts URLs signed with the previous key after a rotation', async t => {
  const before = createUrlSigner(['the first signing key'])
  const after = createUrlSigner(['the second signing key', 'the first signing key'])
  const later = createUrlSigner(['the third signing key', 'the second signing key'])
  const sig = before.sign('id', '1')
  t.ok(after.verify('id', '1', sig))
  t.notOk(later.verify('id', '1', sig))
  t.ok(later.verify('id', '1', after.sign('id', '1')))
  t.not(after.sign('id', '1'), sig)
})

forEachEngine(t, 'nodes on one database share a signing key', async (t, database) => {
  const stores = await Promise.all([1, 2, 3].map(() => database.open()))
  const keys = await Promise.all(stores.map(store => sharedSigningKey(store, secretBox)))
  t.match(keys[0], /^[\w-]{43}$/)
  t.same(new Set(keys).size, 1)
  t.equal(await sharedSigningKey(await database.open(), secretBox), keys[0])
})
